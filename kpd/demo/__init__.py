"""A recorded run played again through the daemon's own screens: `kpd demo`."""

"""Tools that agents have built: their files, their manifest, and the checks that decide which of them are used."""

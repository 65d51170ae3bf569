    for (long i = 0; i < n; i++) {
        sum[i] = 2.0 * (double)a[i] + (double)b[i];
        size[i] = fabs(2.0 * (double)a[i]) + fabs((double)b[i]);
    }

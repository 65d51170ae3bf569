    sum[0] = size[0] = 0.0;
    for (long i = 0; i < n; i++) {
        sum[0] += (double)x[i];
        size[0] += fabs((double)x[i]);
    }

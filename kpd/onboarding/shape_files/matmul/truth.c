    for (long i = 0; i < m; i++) {
        for (long j = 0; j < n; j++) sum[i * n + j] = size[i * n + j] = 0.0;
        for (long l = 0; l < k; l++)
            for (long j = 0; j < n; j++) {
                double product = (double)a[i * k + l] * (double)b[l * n + j];
                sum[i * n + j] += product;
                size[i * n + j] += fabs(product);
            }
    }

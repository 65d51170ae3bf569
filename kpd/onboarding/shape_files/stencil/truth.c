    for (long i = 0; i < rows; i++)
        for (long j = 0; j < cols; j++) {
            int edge = i == 0 || j == 0 || i == rows - 1 || j == cols - 1;
            long at = i * cols + j;
            double own = edge ? (double)x[at] : 0.5 * (double)x[at], of = fabs(own);
            const long beside[4] = {at - cols, at - 1, at + 1, at + cols};
            for (int s = 0; s < 4 && !edge; s++) {
                own += 0.125 * (double)x[beside[s]];
                of += fabs(0.125 * (double)x[beside[s]]);
            }
            sum[at] = own;
            size[at] = of;
        }

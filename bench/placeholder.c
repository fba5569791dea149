extern int bench_placeholder; int bench_placeholder;

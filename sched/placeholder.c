extern int sched_placeholder; int sched_placeholder;

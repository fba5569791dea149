/*
 * goals.h - measures the promised figures again and holds them against their goals.
 *
 * Owns: the temporary files that commands write. In: docs/figures.yaml; out: a line per figure,
 * exit status. Thread: the process has one.
 */
#ifndef GOALS_H
#define GOALS_H

/* `farebench check [GROUP|ID] ...`: 0 all goals met; 1 some not, or a command failed; 2 usage. */
int goals_main(int argc, char **argv);

#endif

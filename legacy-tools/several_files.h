/* What the files of the tool `several_files` have in common: each notes what runs, in order, as a letter. */
#ifndef SEVERAL_FILES_H
#define SEVERAL_FILES_H

enum moment { AT_START, IN_SEND, IN_RECV, IN_BARRIER, MOMENTS };

/* Of several_files_a.c, which the others refer to without being linked with it. */
extern char several_files_log[MOMENTS][64];
void several_files_note(enum moment when, char file);

#endif

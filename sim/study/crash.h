/* The end of a process that ran a policy: whether the policy's code ended it, and in which words that is reported. */
#ifndef ORRERY_STUDY_CRASH_H
#define ORRERY_STUDY_CRASH_H

#include <stdbool.h>
#include <stddef.h>

/* Gives the signals of a crash their default effect: the handlers of a sanitizer or debugger would end the process
 * with a status instead of the signal. */
void crash_plainly(void);

/* Whether a process with this status (wait(2)) was ended by the code in it: by a crash or by exit, not by a signal
 * from outside. For processes that did not come to their end. */
bool crash_is_own(int status);

/* Describes how `who` ended: "the plug-in crashes: signal 11 (Segmentation fault)", or "the plug-in ends the process:
 * status 0". */
void crash_describe(const char *who, int status, char *text, size_t text_bytes);

#endif

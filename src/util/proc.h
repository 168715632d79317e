/* SPDX-License-Identifier: MIT */
/* Subprocesses without a shell: what is no program is not run, not even by /bin/sh.
 *
 * Children get a process group of their own, so that Ctrl-C reaches this program alone and it decides. When this
 * program dies, however it does, a keeper (a process of a few pages beside each child) kills the whole group, and
 * before a child is reaped so are those that it left behind.
 */
#ifndef XR_UTIL_PROC_H
#define XR_UTIL_PROC_H

#include "util/error.h"
#include "util/strbuf.h"
#include "util/watch.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* ---- one that is talked to, line by line ---- */

struct xr_proc {
	pid_t pid;             /* 0: not running */
	int in, out;           /* its standard input and output; its standard error goes to `log` */
	struct xr_strbuf rest; /* read but not yet handed out */
	size_t rest_at;
	struct xr_strbuf log;  /* the beginning of its standard error */
	int log_fd;
	unsigned long turn;    /* the user's own; 0 when it is started */
	bool ends;             /* private: it has closed its pipes */
	pid_t keeper;          /* private */
	int keeper_fd;         /* private */
};

int xr_proc_start(struct xr_proc *proc, const char *const *argv, struct xr_error *err);
/* 0; -1: it is gone, or has read nothing for a minute, or the watch is over. */
int xr_proc_send(struct xr_proc *proc, const char *text, size_t len, const struct xr_watch *watch);
/* 1: a line (without newline) is in *line, valid until the next call; 0: it ended; -1: nothing for timeout_s
 * seconds, or the watch is over; -2: a line longer than any of ours. */
int xr_proc_line(struct xr_proc *proc, double timeout_s, const struct xr_watch *watch, const char **line);
/* CPU time that it has used, its children's not counted; negative where that cannot be known. */
double xr_proc_used_s(const struct xr_proc *proc);
/* Kills it if it still runs, reaps it, and says in words how it ended ("killed by SIGSEGV (Segmentation fault)",
 * "exited with status 70: …"; "" for one that had to be killed). `how` may be NULL. */
void xr_proc_stop(struct xr_proc *proc, struct xr_strbuf *how);

/* ---- many that are run to their end, several at a time ---- */

enum { XR_JOB_NOT_STARTED = -1, XR_JOB_TOO_LONG = -2, XR_JOB_STOPPED = -3 };

struct xr_job {
	const char *const *argv;
	const char *tmp;         /* where it puts temporary files (TMPDIR); NULL: where it likes */
	struct xr_strbuf output; /* standard output and error together, the first MiB; released by the caller */
	int status;              /* exit status; 128 + signal; or one of the above: could not be started, took longer than
	                          * the limit, the watch was over */
};

/* Whatever a job does (close its output, ignore signals, leave others behind), it is over after timeout_s
 * seconds, and all of them are when the watch is. */
void xr_jobs_run(struct xr_job *jobs, size_t n, int parallel, double timeout_s, const struct xr_watch *watch);

/* The file that a command's first word stands for, by PATH where it names no folder: malloc'ed, or NULL with
 * errno set. */
char *xr_program_find(const char *word);

/* ---- words ---- */

/* Splits a command or a list of flags at blanks; '…' and "…" keep blanks, \ takes the next character as it is. Returns
 * a NULL-terminated list from one malloc block (free it), or NULL when a quote is not closed. */
char **xr_words_split(const char *text);

#endif

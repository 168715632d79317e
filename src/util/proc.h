/* Subprocesses without a shell.
 *
 * Children get a process group of their own, so that Ctrl-C reaches this program alone and it decides; they are killed
 * when this program dies.
 */
#ifndef XR_UTIL_PROC_H
#define XR_UTIL_PROC_H

#include "util/error.h"
#include "util/strbuf.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* ---- one that is talked to, line by line ---- */

struct xr_proc {
	pid_t pid;             /* 0: not running */
	int in, out;           /* its standard input and output; its standard error goes to `log` */
	struct xr_strbuf rest; /* read but not yet handed out */
	size_t rest_at;
	struct xr_strbuf log;  /* tail of its standard error */
	int log_fd;
};

int xr_proc_start(struct xr_proc *proc, const char *const *argv, struct xr_error *err);
/* 0; -1: it is gone. */
int xr_proc_send(struct xr_proc *proc, const char *text, size_t len);
/* 1: a line (without newline) is in *line, valid until the next call; 0: it ended; -1: nothing for timeout_s
 * seconds. */
int xr_proc_line(struct xr_proc *proc, double timeout_s, const char **line);
/* Kills it if it still runs, reaps it, and says in words how it ended ("killed by SIGSEGV (Segmentation fault)", "exited with
 * status 70: …"). `how` may be NULL. */
void xr_proc_stop(struct xr_proc *proc, struct xr_strbuf *how);

/* ---- many that are run to their end, several at a time ---- */

struct xr_job {
	const char *const *argv;
	struct xr_strbuf output; /* standard output and error together; released by the caller */
	int status;              /* exit status; 128 + signal; -1: could not be started; -2: took too long */
	int fd;                  /* private */
	pid_t pid;               /* private */
};

void xr_jobs_run(struct xr_job *jobs, size_t n, int parallel, double timeout_s);

/* ---- words ---- */

/* Splits a command or a list of flags at blanks; '…' and "…" keep blanks, \ takes the next character as it is. Returns
 * a NULL-terminated list from one malloc block (free it), or NULL when a quote is not closed. */
char **xr_words_split(const char *text);

#endif

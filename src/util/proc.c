/* SPDX-License-Identifier: MIT */
#include "util/proc.h"

#include "util/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { LOG_MAX = 4096, LINE_MAX_BYTES = 1 << 20, OUTPUT_MAX = 1 << 20, AT_ONCE = 64 };
static const double send_patience_s = 60, look_s = 0.1;
/* For the end of one that we stop, and of one that has closed its pipes: on a busy machine it may not get to it at once. */
enum { STOP_MS = 20, END_MS = 5000 };

/* ---- pipes ---- */

/* Beyond standard input, output and error, also where these are closed: they are about to be put in their place. */
static int raise_both(int ends[2])
{
	for (int i = 0; i < 2; i++) {
		if (ends[i] > 2)
			continue;
		int raised = fcntl(ends[i], F_DUPFD_CLOEXEC, 3), saved = errno;
		close(ends[i]);
		ends[i] = raised;
		if (raised < 0) {
			close(ends[1 - i]);
			errno = saved;
			return -1;
		}
	}
	return 0;
}

static int make_pipe(int ends[2])
{
	return pipe2(ends, O_CLOEXEC) ? -1 : raise_both(ends);
}

static int make_sockets(int ends[2])
{
	return socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) ? -1 : raise_both(ends);
}

static void close_pair(int fd[2])
{
	close(fd[0]);
	close(fd[1]);
}

/* ---- the keeper ---- */

/* Sees to it that nothing outlives this program, however that ends (kill -9 included): it reads who was started,
 * and who has ended as a negative number; when there is no more to read it kills the groups that are left.
 * Between fork and _exit only what a signal handler may call. */
static void keep(int fd)
{
	int32_t group[AT_ONCE], said;
	int n = 0;
	setpgid(0, 0);
	prctl(PR_SET_NAME, "xr-keeper"); /* `pkill -9 xray` must not find it */
	for (;;) {
		ssize_t got = read(fd, &said, sizeof said);
		if (got < 0 && errno == EINTR)
			continue;
		if (got != (ssize_t)sizeof said)
			break;
		int i = 0;
		while (i < n && group[i] != -said)
			i++;
		if (said > 0 && n < AT_ONCE)
			group[n++] = said;
		else if (said < 0 && i < n)
			group[i] = group[--n];
	}
	for (int i = 0; i < n; i++)
		kill(-group[i], SIGKILL);
	_exit(0);
}

static void close_all_but(int fd)
{
	for (int i = 0; i < 3; i++)
		if (i != fd)
			close(i);
#if defined(SYS_close_range)
	if ((fd <= 3 || !syscall(SYS_close_range, 3u, (unsigned)fd - 1, 0)) &&
	    !syscall(SYS_close_range, (unsigned)(fd < 3 ? 3 : fd + 1), ~0u, 0))
		return;
#endif
	for (int i = 3; i < 4096; i++)
		if (i != fd)
			close(i);
}

static pid_t keeper_start(int *fd)
{
	int ends[2];
	*fd = -1;
	if (make_sockets(ends))
		return -1;
	pid_t pid = fork();
	if (!pid) {
		close_all_but(ends[1]);
		keep(ends[1]);
	}
	int saved = errno;
	close(ends[1]);
	if (pid < 0)
		close(ends[0]);
	else
		*fd = ends[0];
	errno = saved;
	return pid;
}

static void keeper_told(int fd, pid_t pid)
{
	int32_t said = (int32_t)pid;
	while (send(fd, &said, sizeof said, MSG_NOSIGNAL) < 0 && errno == EINTR)
		;
}

static void reap(pid_t pid, int *status)
{
	while (waitpid(pid, status, 0) < 0 && errno == EINTR)
		;
}

static void keeper_stop(pid_t pid, int fd)
{
	int status;
	close(fd);
	reap(pid, &status);
}

/* ---- starting ---- */

static bool is_program(const char *path)
{
	struct stat st;
	return !stat(path, &st) && S_ISREG(st.st_mode) && !access(path, X_OK);
}

char *xr_program_find(const char *word)
{
	struct xr_strbuf path = {0};
	const char *dirs = getenv("PATH");
	int why = ENOENT;
	if (strchr(word, '/') || !*word) {
		if (is_program(word))
			return xr_strdup(word);
		struct stat st;
		why = stat(word, &st) ? errno : EACCES;
		dirs = "";
	} else if (!dirs || !*dirs) {
		dirs = "/usr/local/bin:/usr/bin:/bin";
	}
	for (; *dirs; dirs += strcspn(dirs, ":"), dirs += *dirs == ':') {
		int len = (int)strcspn(dirs, ":");
		xr_strbuf_clear(&path);
		xr_strbuf_printf(&path, "%.*s/%s", len ? len : 1, len ? dirs : ".", word);
		if (is_program(xr_strbuf_text(&path)))
			return path.data; /* as malloc made it */
		if (!access(xr_strbuf_text(&path), F_OK))
			why = EACCES;
	}
	xr_strbuf_release(&path);
	errno = why;
	return NULL;
}

static void default_signals(void)
{
	static const int caught[] = {SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGXFSZ, SIGXCPU, SIGQUIT, SIGALRM};
	sigset_t none;
	for (size_t i = 0; i < sizeof caught / sizeof *caught; i++)
		signal(caught[i], SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

extern char **environ;

/* Our environment with another TMPDIR: one block, the text of the new entry behind the list. */
static char **environment_with(const char *tmp)
{
	static const char name[] = "TMPDIR=";
	size_t n = 0, k = 0;
	while (environ && environ[n])
		n++;
	char **list = xr_calloc(1, (n + 2) * sizeof *list + strlen(name) + strlen(tmp) + 1);
	char *entry = (char *)(list + n + 2);
	for (size_t i = 0; i < n; i++)
		if (strncmp(environ[i], name, strlen(name)) != 0)
			list[k++] = environ[i];
	strcpy(entry, name);
	strcat(entry, tmp);
	list[k++] = entry;
	list[k] = NULL;
	return list;
}

/* Returns the pid, or -1 with errno set, also when the program could not be executed. */
static pid_t spawn(const char *const *argv, const char *tmp, int in, int out, int error)
{
	int report[2];
	char *program = xr_program_find(argv[0]);
	if (!program)
		return -1;
	if (make_pipe(report)) {
		free(program);
		return -1;
	}
	char **environment = tmp ? environment_with(tmp) : environ;
	pid_t pid = fork();
	if (pid == 0) {
		setpgid(0, 0);
		default_signals();
		dup2(in, 0);
		dup2(out, 1);
		dup2(error, 2);
		execve(program, (char *const *)(size_t)argv, environment);
		int code = errno;
		if (write(report[1], &code, sizeof code) < 0)
			_exit(126);
		_exit(127);
	}
	int saved = errno, code = 0, status;
	close(report[1]);
	if (pid > 0) {
		setpgid(pid, pid); /* whoever comes first */
		ssize_t got;
		do
			got = read(report[0], &code, sizeof code);
		while (got < 0 && errno == EINTR);
		if (got == (ssize_t)sizeof code) {
			reap(pid, &status);
			pid = -1;
			saved = code;
		}
	}
	close(report[0]);
	if (tmp)
		free(environment);
	free(program);
	errno = saved;
	return pid;
}

/* ---- one that is talked to ---- */

int xr_proc_start(struct xr_proc *proc, const char *const *argv, struct xr_error *err)
{
	int in[2], out[2], log[2];
	*proc = (struct xr_proc){0};
	if (make_sockets(in))
		return xr_fail(err, XR_EXIT_TARGET, "cannot make a socket pair: %s", strerror(errno));
	if (make_pipe(out)) {
		close_pair(in);
		return xr_fail(err, XR_EXIT_TARGET, "cannot make a pipe: %s", strerror(errno));
	}
	if (make_pipe(log)) {
		close_pair(in);
		close_pair(out);
		return xr_fail(err, XR_EXIT_TARGET, "cannot make a pipe: %s", strerror(errno));
	}
	fcntl(log[0], F_SETFL, O_NONBLOCK); /* our end alone: who writes there need not know */
	proc->keeper = keeper_start(&proc->keeper_fd);
	proc->pid = proc->keeper > 0 ? spawn(argv, NULL, in[1], out[1], log[1]) : -1;
	int code = errno;
	close(in[1]);
	close(out[1]);
	close(log[1]);
	if (proc->pid < 0) {
		close(in[0]);
		close(out[0]);
		close(log[0]);
		if (proc->keeper > 0)
			keeper_stop(proc->keeper, proc->keeper_fd);
		*proc = (struct xr_proc){0};
		return xr_fail(err, XR_EXIT_TARGET, "cannot run '%s': %s", argv[0],
		               code == ENOEXEC ? "it is no program" : strerror(code));
	}
	keeper_told(proc->keeper_fd, proc->pid);
	proc->in = in[0];
	proc->out = out[0];
	proc->log_fd = log[0];
	return 0;
}

static void drain_log(struct xr_proc *proc)
{
	char text[1024];
	ssize_t got;
	for (int i = 0; i < 1024 && (got = read(proc->log_fd, text, sizeof text)) > 0; i++)
		if (proc->log.len < LOG_MAX)
			xr_strbuf_add(&proc->log, text, (size_t)got);
}

int xr_proc_send(struct xr_proc *proc, const char *text, size_t len, const struct xr_watch *watch)
{
	double end = xr_clock_s() + send_patience_s;
	while (len) {
		ssize_t sent = send(proc->in, text, len, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (sent > 0) {
			text += sent;
			len -= (size_t)sent;
			continue;
		}
		if (sent < 0 && errno != EINTR && errno != EAGAIN && errno != EWOULDBLOCK) {
			proc->ends = true;
			return -1;
		}
		if (xr_watch_over(watch) || xr_clock_s() > end)
			return -1;
		struct pollfd wait[2] = {{proc->in, POLLOUT, 0}, {proc->log_fd, POLLIN, 0}};
		if (poll(wait, 2, (int)(look_s * 1000)) > 0 && wait[1].revents & POLLIN)
			drain_log(proc); /* lest it waits for us to read */
	}
	return 0;
}

/* Waits for more of its output, and takes it. 1: something came or the time is not up; 0: it ended; -1: nothing. While this
 * process was stopped (a paused virtual machine, say) the other may have been, too: that is no silence of the other's. */
static int take_more(struct xr_proc *proc, double *patience_s, const struct xr_watch *watch)
{
	double left = xr_watch_left_s(watch, *patience_s), start = xr_clock_s();
	if (left <= 0)
		return -1;
	struct pollfd wait[2] = {{proc->out, POLLIN, 0}, {proc->log_fd, POLLIN, 0}};
	int n = poll(wait, 2, (int)((left < look_s ? left : look_s) * 1000) + 1);
	double waited = xr_clock_s() - start;
	*patience_s -= waited < 2 * look_s ? waited : 2 * look_s;
	if (n < 0 && errno != EINTR)
		return 0;
	if (n <= 0)
		return 1;
	if (wait[1].revents & POLLIN)
		drain_log(proc);
	if (wait[0].revents) {
		char text[65536];
		ssize_t got = read(proc->out, text, sizeof text);
		if (got < 0 && errno == EINTR)
			return 1;
		if (got <= 0) {
			proc->ends = true;
			return 0;
		}
		xr_strbuf_add(&proc->rest, text, (size_t)got);
	} else if (wait[1].revents & POLLHUP) {
		poll(wait, 1, 10); /* its standard error is closed; do not spin on that */
	}
	return 1;
}

int xr_proc_line(struct xr_proc *proc, double timeout_s, const struct xr_watch *watch, const char **line)
{
	for (;;) {
		char *start = proc->rest.data ? proc->rest.data + proc->rest_at : NULL;
		char *newline = start ? memchr(start, '\n', proc->rest.len - proc->rest_at) : NULL;
		if (newline) {
			*newline = '\0';
			*line = start;
			proc->rest_at += (size_t)(newline - start) + 1;
			return 1;
		}
		if (start && proc->rest_at) { /* keep the beginning of an unfinished line only */
			memmove(proc->rest.data, start, proc->rest.len - proc->rest_at);
			proc->rest.len -= proc->rest_at;
			proc->rest_at = 0;
		}
		if (proc->rest.len > LINE_MAX_BYTES)
			return -2;
		int more = take_more(proc, &timeout_s, watch);
		if (more <= 0)
			return more;
	}
}

double xr_proc_used_s(const struct xr_proc *proc)
{
	clockid_t clock;
	struct timespec used;
	if (!proc->pid || clock_getcpuclockid(proc->pid, &clock) || clock_gettime(clock, &used))
		return -1;
	return (double)used.tv_sec + 1e-9 * (double)used.tv_nsec;
}

static const char *signal_word(int sig)
{
	/* those that end a program; sigabbrev_np() is glibc's alone */
	static const struct {
		int number;
		const char *word;
	} words[] = {{SIGABRT, "ABRT"}, {SIGALRM, "ALRM"}, {SIGBUS, "BUS"},   {SIGFPE, "FPE"},   {SIGHUP, "HUP"},
	             {SIGILL, "ILL"},   {SIGINT, "INT"},   {SIGKILL, "KILL"}, {SIGPIPE, "PIPE"}, {SIGQUIT, "QUIT"},
	             {SIGSEGV, "SEGV"}, {SIGSYS, "SYS"},   {SIGTERM, "TERM"}, {SIGTRAP, "TRAP"}, {SIGUSR1, "USR1"},
	             {SIGUSR2, "USR2"}, {SIGXCPU, "XCPU"}, {SIGXFSZ, "XFSZ"}};
	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (words[i].number == sig)
			return words[i].word;
	return "?";
}

/* Has it ended? It is not reaped yet, so that its group can still be killed by its number. */
static bool has_ended(pid_t pid)
{
	siginfo_t info = {0};
	return waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) || info.si_pid == pid;
}

static void nap(void)
{
	nanosleep(&(struct timespec){0, 1000000}, NULL);
}

void xr_proc_stop(struct xr_proc *proc, struct xr_strbuf *how)
{
	if (!proc->pid)
		return;
	close(proc->in);
	close(proc->out);
	int status = 0;
	const int patience_ms = proc->ends ? END_MS : STOP_MS;
	/* one that crashed or was told to quit ends by itself */
	for (int i = 0; i < patience_ms && !has_ended(proc->pid); i++)
		nap();
	bool killed = !has_ended(proc->pid);
	kill(-proc->pid, SIGKILL); /* and those it left behind */
	reap(proc->pid, &status);
	keeper_told(proc->keeper_fd, -proc->pid);
	keeper_stop(proc->keeper, proc->keeper_fd);
	drain_log(proc);
	close(proc->log_fd);
	if (how && killed)
		xr_strbuf_printf(how, "did not end by itself");
	else if (how && WIFSIGNALED(status))
		xr_strbuf_printf(how, "killed by SIG%s (%s)", signal_word(WTERMSIG(status)),
		                 strsignal(WTERMSIG(status)));
	else if (how)
		xr_strbuf_printf(how, "exited with status %d", WEXITSTATUS(status));
	if (how && proc->log.len) {
		size_t len = strcspn(xr_strbuf_text(&proc->log), "\n");
		xr_strbuf_printf(how, ": %.*s", (int)(len > 300 ? 300 : len), xr_strbuf_text(&proc->log));
	}
	xr_strbuf_release(&proc->rest);
	xr_strbuf_release(&proc->log);
	*proc = (struct xr_proc){0};
}

/* ---- jobs ---- */

struct active {
	struct xr_job *job;
	pid_t pid;
	int fd; /* its output; -1: closed */
	double end_s;
};

/* Standard input is at its end: a pipe that nobody writes to. */
static bool job_start(struct active *a, struct xr_job *job)
{
	int in[2], out[2];
	*a = (struct active){.job = job, .fd = -1};
	job->status = XR_JOB_NOT_STARTED;
	if (make_pipe(in)) {
		xr_strbuf_printf(&job->output, "%s", strerror(errno));
		return false;
	}
	if (make_pipe(out)) {
		xr_strbuf_printf(&job->output, "%s", strerror(errno));
		close_pair(in);
		return false;
	}
	close(in[1]);
	a->pid = spawn(job->argv, job->tmp, in[0], out[1], out[1]);
	if (a->pid < 0)
		xr_strbuf_printf(&job->output, "%s", errno == ENOEXEC ? "it is no program" : strerror(errno));
	close(in[0]);
	close(out[1]);
	if (a->pid < 0) {
		close(out[0]);
		return false;
	}
	fcntl(out[0], F_SETFL, O_NONBLOCK);
	a->fd = out[0];
	return true;
}

static void job_end(struct active *a, int why, int keeper_fd)
{
	int status = 0;
	kill(-a->pid, SIGKILL);
	reap(a->pid, &status);
	keeper_told(keeper_fd, -a->pid);
	if (a->fd >= 0)
		close(a->fd);
	a->job->status = why ? why : WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

static void job_read(struct active *a)
{
	char text[8192];
	for (int i = 0; i < 64 && a->fd >= 0; i++) {
		ssize_t got = read(a->fd, text, sizeof text);
		if (got > 0 && a->job->output.len < OUTPUT_MAX)
			xr_strbuf_add(&a->job->output, text, (size_t)got);
		if (got < 0 && (errno == EAGAIN || errno == EINTR))
			return;
		if (got <= 0) {
			close(a->fd);
			a->fd = -1;
		}
	}
}

/* Waits until one of them has said something or may have ended. */
static void jobs_wait(const struct active *active, int k)
{
	struct pollfd wait[AT_ONCE];
	int n = 0;
	bool silent = false; /* one whose output is closed: only its end is still to come */
	for (int i = 0; i < k; i++)
		if (active[i].fd >= 0)
			wait[n++] = (struct pollfd){active[i].fd, POLLIN, 0};
		else
			silent = true;
	poll(wait, (nfds_t)n, silent ? 2 : (int)(look_s * 1000));
}

/* An end that only its output tells (others of its group may hold it open): looked for now and then. */
static void jobs_settle(struct active *active, int *k, const struct xr_watch *watch, int keeper_fd)
{
	bool over = xr_watch_over(watch);
	for (int i = *k - 1; i >= 0; i--) {
		struct active *a = &active[i];
		job_read(a);
		bool ended = has_ended(a->pid);
		int why = ended ? 0 : over ? XR_JOB_STOPPED : xr_clock_s() > a->end_s ? XR_JOB_TOO_LONG : 0;
		if (!ended && !why)
			continue;
		job_read(a);
		job_end(a, why, keeper_fd);
		active[i] = active[--*k];
	}
}

void xr_jobs_run(struct xr_job *jobs, size_t n, int parallel, double timeout_s, const struct xr_watch *watch)
{
	struct active active[AT_ONCE];
	size_t next = 0;
	int k = 0, keeper_fd;
	pid_t keeper = n ? keeper_start(&keeper_fd) : 0;
	const char *why = keeper < 0 ? strerror(errno) : NULL;
	parallel = parallel < 1 ? 1 : parallel > AT_ONCE ? AT_ONCE : parallel;
	while (next < n || k) {
		for (; k < parallel && next < n; next++) {
			if (why || xr_watch_over(watch)) {
				jobs[next].status = why ? XR_JOB_NOT_STARTED : XR_JOB_STOPPED;
				xr_strbuf_printf(&jobs[next].output, "%s", why ? why : xr_watch_why(watch));
			} else if (job_start(&active[k], &jobs[next])) {
				active[k].end_s = xr_clock_s() + timeout_s;
				keeper_told(keeper_fd, active[k++].pid);
			}
		}
		if (!k)
			continue;
		jobs_wait(active, k);
		jobs_settle(active, &k, watch, keeper_fd);
	}
	if (keeper > 0)
		keeper_stop(keeper, keeper_fd);
}

/* ---- words ---- */

char **xr_words_split(const char *text)
{
	size_t len = strlen(text);
	/* at most one word per two characters, plus the end; then the characters themselves */
	size_t most = len / 2 + 2;
	char **words = xr_calloc(1, most * sizeof *words + len + 1);
	char *to = (char *)(words + most);
	size_t n = 0;
	while (*text) {
		if (strchr(" \t\r\n", *text)) {
			text++;
			continue;
		}
		words[n++] = to;
		char quote = 0;
		for (; *text && (quote || !strchr(" \t\r\n", *text)); text++) {
			if (quote && *text == quote)
				quote = 0;
			else if (!quote && (*text == '\'' || *text == '"'))
				quote = *text;
			else if (*text == '\\' && quote != '\'' && text[1])
				*to++ = *++text;
			else
				*to++ = *text;
		}
		*to++ = '\0';
		if (quote) {
			free(words);
			return NULL;
		}
	}
	words[n] = NULL;
	return words;
}

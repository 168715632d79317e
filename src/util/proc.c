#include "util/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { LOG_MAX = 4096 };

static double now_s(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Never returns in the child. Returns the pid, or -1 with errno set, also when the program could not be executed. */
static pid_t spawn(const char *const *argv, int in, int out, int error)
{
	int report[2];
	if (pipe2(report, O_CLOEXEC))
		return -1;
	pid_t parent = getpid(), pid = fork();
	if (pid == 0) {
		setpgid(0, 0);
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != parent)
			_exit(127);
		signal(SIGINT, SIG_DFL);
		signal(SIGPIPE, SIG_DFL);
		dup2(in, 0);
		dup2(out, 1);
		dup2(error, 2);
		execvp(argv[0], (char *const *)(size_t)argv);
		int code = errno;
		if (write(report[1], &code, sizeof code) < 0)
			_exit(126);
		_exit(127);
	}
	int saved = errno, code = 0;
	close(report[1]);
	if (pid > 0) {
		ssize_t got;
		do
			got = read(report[0], &code, sizeof code);
		while (got < 0 && errno == EINTR);
		if (got == (ssize_t)sizeof code) {
			waitpid(pid, NULL, 0);
			pid = -1;
			saved = code;
		}
	}
	close(report[0]);
	errno = saved;
	return pid;
}

int xr_proc_start(struct xr_proc *proc, const char *const *argv, struct xr_error *err)
{
	int in[2], out[2], log[2];
	*proc = (struct xr_proc){0};
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, in))
		return xr_fail(err, XR_EXIT_TARGET, "cannot make a socket pair: %s", strerror(errno));
	if (pipe2(out, O_CLOEXEC)) {
		close(in[0]), close(in[1]);
		return xr_fail(err, XR_EXIT_TARGET, "cannot make a pipe: %s", strerror(errno));
	}
	if (pipe2(log, O_CLOEXEC | O_NONBLOCK)) {
		close(in[0]), close(in[1]), close(out[0]), close(out[1]);
		return xr_fail(err, XR_EXIT_TARGET, "cannot make a pipe: %s", strerror(errno));
	}
	proc->pid = spawn(argv, in[1], out[1], log[1]);
	int code = errno;
	close(in[1]);
	close(out[1]);
	close(log[1]);
	if (proc->pid < 0) {
		close(in[0]);
		close(out[0]);
		close(log[0]);
		proc->pid = 0;
		return xr_fail(err, XR_EXIT_TARGET, "cannot run '%s': %s", argv[0], strerror(code));
	}
	proc->in = in[0];
	proc->out = out[0];
	proc->log_fd = log[0];
	return 0;
}

int xr_proc_send(struct xr_proc *proc, const char *text, size_t len)
{
	while (len) {
		ssize_t sent = send(proc->in, text, len, MSG_NOSIGNAL);
		if (sent < 0 && errno == EINTR)
			continue;
		if (sent < 0)
			return -1;
		text += sent;
		len -= (size_t)sent;
	}
	return 0;
}

static void drain_log(struct xr_proc *proc)
{
	char text[1024];
	ssize_t got;
	while ((got = read(proc->log_fd, text, sizeof text)) > 0)
		if (proc->log.len < LOG_MAX)
			xr_strbuf_add(&proc->log, text, (size_t)got);
}

int xr_proc_line(struct xr_proc *proc, double timeout_s, const char **line)
{
	double end = now_s() + timeout_s;
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
		double left = end - now_s();
		if (left <= 0)
			return -1;
		struct pollfd wait[2] = {{proc->out, POLLIN, 0}, {proc->log_fd, POLLIN, 0}};
		int n = poll(wait, 2, (int)(left * 1000) + 1);
		if (n < 0 && errno != EINTR)
			return 0;
		if (n <= 0)
			continue;
		if (wait[1].revents & POLLIN)
			drain_log(proc);
		if (wait[0].revents) {
			char text[65536];
			ssize_t got = read(proc->out, text, sizeof text);
			if (got < 0 && errno == EINTR)
				continue;
			if (got <= 0)
				return 0;
			xr_strbuf_add(&proc->rest, text, (size_t)got);
		} else if (wait[1].revents & POLLHUP) {
			poll(wait, 1, 10); /* its standard error is closed; do not spin on that */
		}
	}
}

static const char *signal_word(int sig)
{
	const char *name = sigabbrev_np(sig);
	return name ? name : "?";
}

void xr_proc_stop(struct xr_proc *proc, struct xr_strbuf *how)
{
	if (!proc->pid)
		return;
	close(proc->in);
	close(proc->out);
	int status = 0, waited = 0;
	for (int i = 0; i < 20 && !waited; i++) { /* one that crashed or was told to quit ends by itself */
		waited = waitpid(proc->pid, &status, WNOHANG) == proc->pid;
		if (!waited)
			nanosleep(&(struct timespec){0, 1000000}, NULL);
	}
	if (!waited) {
		kill(-proc->pid, SIGKILL);
		kill(proc->pid, SIGKILL);
		while (waitpid(proc->pid, &status, 0) < 0 && errno == EINTR)
			;
	}
	drain_log(proc);
	close(proc->log_fd);
	if (how && WIFSIGNALED(status))
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

static void job_start(struct xr_job *job)
{
	int out[2], null = open("/dev/null", O_RDONLY | O_CLOEXEC);
	job->pid = 0;
	job->fd = -1;
	if (null < 0 || pipe2(out, O_CLOEXEC)) {
		xr_strbuf_printf(&job->output, "%s", strerror(errno));
		job->status = -1;
		if (null >= 0)
			close(null);
		return;
	}
	job->pid = spawn(job->argv, null, out[1], out[1]);
	if (job->pid < 0) {
		xr_strbuf_printf(&job->output, "%s", strerror(errno));
		job->status = -1;
		job->pid = 0;
		close(out[0]);
	} else {
		job->fd = out[0];
	}
	close(out[1]);
	close(null);
}

static void job_end(struct xr_job *job, bool late)
{
	int status = 0;
	if (late)
		kill(-job->pid, SIGKILL);
	close(job->fd);
	job->fd = -1;
	while (waitpid(job->pid, &status, 0) < 0 && errno == EINTR)
		;
	job->status = late ? -2 : WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

void xr_jobs_run(struct xr_job *jobs, size_t n, int parallel, double timeout_s)
{
	enum { AT_ONCE = 64 };
	struct xr_job *active[AT_ONCE];
	double deadline[AT_ONCE];
	struct pollfd wait[AT_ONCE];
	size_t next = 0;
	int k = 0;
	if (parallel > AT_ONCE)
		parallel = AT_ONCE;
	while (next < n || k) {
		while (k < parallel && next < n) {
			job_start(&jobs[next]);
			if (jobs[next].pid) {
				deadline[k] = now_s() + timeout_s;
				active[k++] = &jobs[next];
			}
			next++;
		}
		for (int i = 0; i < k; i++)
			wait[i] = (struct pollfd){active[i]->fd, POLLIN, 0};
		if (poll(wait, (nfds_t)k, 200) < 0 && errno != EINTR)
			break;
		for (int i = k - 1; i >= 0; i--) {
			char text[8192];
			ssize_t got = 1;
			if (wait[i].revents)
				got = read(active[i]->fd, text, sizeof text);
			if (wait[i].revents && got > 0 && active[i]->output.len < 1 << 20)
				xr_strbuf_add(&active[i]->output, text, (size_t)got);
			bool late = now_s() > deadline[i];
			if ((got <= 0 && !(got < 0 && errno == EINTR)) || late) {
				job_end(active[i], late);
				active[i] = active[k - 1];
				deadline[i] = deadline[k - 1];
				k--;
			}
		}
	}
}

/* ---- words ---- */

char **xr_words_split(const char *text)
{
	size_t len = strlen(text);
	/* at most one word per two characters, plus the end; then the characters themselves */
	size_t most = len / 2 + 2;
	char **words = malloc(most * sizeof *words + len + 1);
	if (!words)
		abort();
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

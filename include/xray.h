/* SPDX-License-Identifier: MIT */
/* X-Ray as a library: open a target, measure, look facts up, write a description.
 *
 *     struct xr_error err;
 *     struct xr_session *session = xr_session_open(NULL, &err);
 *     const char *want[] = {"cache.l1d", "op.mul.f64.latency"};
 *     struct xr_plan plan = {.select = want, .n_select = 2};
 *     struct xr_description *d = session ? xr_session_measure(session, &plan, NULL, &err) : NULL;
 *     if (!d)
 *             fprintf(stderr, "%s\n", err.text);
 *     double bytes = xr_description_number(d, "cache.l1d.capacity", 32768);
 *
 * Errors, the one rule: a function that can fail returns 0 or -1 (or a pointer, NULL when it failed) and then has
 * said why in the struct xr_error it was given: one line of text and the class of the failure. err may be NULL. A
 * fact that cannot be measured is no error: it is a fact whose status says so, with a reason.
 *
 * The library never prints, never exits, never reads the environment, installs no signal handlers and keeps no
 * global state. Two sessions may live side by side, but measuring with two at once spoils both. NULL where
 * something is needed is an error or an empty answer. When memory runs out, a call fails like any other, what it
 * was building is lost, and the session is good for nothing but xr_session_free(). So does one that cannot write, the
 * disk being full or files limited in size; no SIGXFSZ or SIGPIPE ends the program for it. Strings given in options
 * are needed until the call returns; strings handed out live as long as their owner.
 */
#ifndef XRAY_H
#define XRAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- errors ------------------------------------------------------------------------------------------------- */

/* The class of a failure; also the exit status of the command line, see xray(1). */
enum xr_exit {
	XR_EXIT_OK = 0,      /* all asked-for facts found */
	XR_EXIT_SOME = 1,    /* some not found; reasons are in the facts */
	XR_EXIT_USE = 2,     /* wrong use, bad input */
	XR_EXIT_TARGET = 3,  /* the target cannot be used */
	XR_EXIT_NOISY = 4    /* measured but not trustworthy */
};

struct xr_error {
	enum xr_exit code;
	char text[1024];
};

/* ---- measuring ---------------------------------------------------------------------------------------------- */

/* Where nano-benchmarks run, and how. XR_OPTIONS_INIT is this machine with its `cc`. */
struct xr_options {
	const char *target;  /* a target or machine file; NULL: this machine */
	const char *cc;      /* compiler; NULL: "cc" */
	const char *cflags;  /* NULL: "-O2" */
	const char *runner;  /* command put in front of the generated programs; NULL: none */
	const char *form;    /* "barrier" or "switch"; NULL: barrier */
	const char *keep;    /* directory that gets the generated C; NULL: not kept */
	const char *cache;   /* directory of compiled experiments; NULL: none is kept */
	const char *tmp;     /* directory that gets a private working directory; NULL: "/tmp" */
	const char *record;  /* directory that gets every specification with its reading; NULL: not recorded */
	int cpu;             /* logical CPU to measure on; -1: choose */
	double sample_ns;    /* length of one sample; 0: from the clock */
	bool baked;          /* the batch goes into the program: for targets that cannot be talked to */
	uint64_t seed;       /* the same seed on a simulated or recorded machine gives the same run */
	double budget_s;     /* that opening may take: a compiler may hang. 0: no limit */
	const volatile int *interrupt; /* set non-zero from anywhere: opening stops soon, and fails. NULL: none */
};

#define XR_OPTIONS_INIT {0, 0, 0, 0, 0, 0, 0, 0, 0, -1, 0, false, 0, 0, 0}

struct xr_session;
struct xr_session *xr_session_open(const struct xr_options *options, struct xr_error *err); /* NULL options: this machine */
void xr_session_free(struct xr_session *session);
const char *xr_session_warning(const struct xr_session *session); /* something a person should know; NULL: nothing */

/* Who else uses the machine just now, watched for so long (0.3 s tells a busy process from a quiet machine). */
struct xr_conditions {
	double busy;       /* share of the CPUs we may use that other processes take, 0..1 */
	double steal;      /* share that the hypervisor gives to others */
	double load;       /* of the last minute; -1: not known */
	double quota;      /* CPUs' worth of time allowed by a control group; 0: no limit */
	bool quiet;        /* nothing of it will matter */
	const char *words; /* what will, one sentence a line; "": nothing. Lives until the next call for this session */
};
int xr_session_conditions(struct xr_session *session, double interval_s, struct xr_conditions *conditions);
	/* -1: not this machine, so nothing can be said; conditions are those of a quiet one */

struct xr_progress {
	const char *micro;     /* id of the micro-benchmark at work */
	const char *title;
	const char *what;      /* what it is doing just now; "" when it does not say */
	int index, count;      /* the index-th (from 1) of count */
	double fraction;       /* of the whole run, 0..1 */
	double elapsed_s, remaining_s;
	bool finished;         /* this micro-benchmark has just ended */
};

/* Who is asked: the clock; hardware counters, where there are any; or both, of which the clock decides and
 * counters make surer or less sure. */
enum xr_oracle { XR_ORACLE_BOTH, XR_ORACLE_TIME, XR_ORACLE_COUNTERS };

/* What to measure. {0} is everything. */
struct xr_plan {
	const char *const *select; /* fact ids, prefixes of whole dotted words ("cache.l1d"), or micro-benchmark ids */
	size_t n_select;           /* 0: everything the target allows */
	bool quick;                /* fewer repetitions, wider error, lower confidence */
	double budget_s;           /* 0: no limit */
	void (*progress)(void *self, const struct xr_progress *progress); /* NULL: none */
	void *self;
	const volatile int *interrupt; /* set non-zero from anywhere (a signal handler): stop soon, keep what was found */
	enum xr_oracle oracle;
};

/* How a run ended, for those who want to know more than the facts. */
struct xr_outcome {
	enum xr_exit exit;
	bool interrupted;
	bool over_budget;
	size_t ok, unsupported, unreliable, failed; /* facts asked for, by status */
};

struct xr_description;

/* Do all selectors fit something? Needs no session; -1 with the nearest that would in the error. */
int xr_plan_check(const struct xr_plan *plan, struct xr_error *err);

/* About how many seconds a plan takes, with what it needs, when nothing is compiled yet. -1: a selector fits nothing. */
double xr_plan_cost_s(const struct xr_plan *plan);

/* NULL only for wrong use (unknown fact) or a target that gave nothing at all. outcome may be NULL. */
struct xr_description *xr_session_measure(struct xr_session *session, const struct xr_plan *plan,
                                          struct xr_outcome *outcome, struct xr_error *err);

/* Times one C statement: p0 is a variable of each stream's own, p1, p2, … are constants shared by all. The description
 * holds statement.latency, statement.throughput, statement.in_flight. NULL with XR_EXIT_USE and the compiler's own
 * words when the statement does not compile. Of the plan, only quick, budget, progress and interrupt count; it may be
 * NULL. */
struct xr_statement {
	const char *text;  /* "p0 = p0 * p1 + p2" */
	const char *type;  /* as in fact ids: "f64"; NULL: "i32" */
	bool native;       /* compile for all this machine has (-march=native or alike) */
};
struct xr_description *xr_session_time(struct xr_session *session, const struct xr_statement *statement,
                                       const struct xr_plan *plan, struct xr_outcome *outcome, struct xr_error *err);

/* Removes what was kept in a cache directory (xr_options.cache), and nothing else that may be there. One that is
 * not there is empty. *files and *bytes get how much it was. */
int xr_cache_clear(const char *path, size_t *files, uint64_t *bytes, struct xr_error *err);

/* ---- facts -------------------------------------------------------------------------------------------------- */

enum xr_status { XR_OK, XR_UNSUPPORTED, XR_UNRELIABLE, XR_FAILED };

struct xr_fact;

size_t xr_description_count(const struct xr_description *d);
const struct xr_fact *xr_description_at(const struct xr_description *d, size_t i);             /* in the order found */
const struct xr_fact *xr_description_fact(const struct xr_description *d, const char *id); /* NULL: no such fact */
double xr_description_number(const struct xr_description *d, const char *id, double otherwise);
	/* numeric value of an ok fact, else `otherwise`; bools count as 0 and 1. d may be NULL */

const char *xr_fact_id(const struct xr_fact *fact);
enum xr_status xr_fact_status(const struct xr_fact *fact);
double xr_fact_value(const struct xr_fact *fact, double otherwise); /* whatever the status; otherwise: not a number */
const char *xr_fact_string(const struct xr_fact *fact);             /* value of a text fact; NULL: not a text */
const char *xr_fact_unit(const struct xr_fact *fact);               /* "": none */
double xr_fact_confidence(const struct xr_fact *fact);              /* 0..1 */
const char *xr_fact_reason(const struct xr_fact *fact);             /* "": nothing to say */

/* Values that are more than one number. */
enum xr_value_kind { XR_VALUE_NONE, XR_VALUE_NUMBER, XR_VALUE_BOOL, XR_VALUE_TEXT, XR_VALUE_LIST, XR_VALUE_MATRIX,
                     XR_VALUE_TREE /* see xr_description_text() */ };
enum xr_value_kind xr_fact_kind(const struct xr_fact *fact);
const char *xr_fact_method(const struct xr_fact *fact);               /* how it was found; "": not said */
double xr_fact_claimed(const struct xr_fact *fact, double otherwise); /* what the OS says, where that is a number */

/* A list of groups ("threads.siblings"), or a plain list, which is one group. */
size_t xr_fact_groups(const struct xr_fact *fact);
size_t xr_fact_group_size(const struct xr_fact *fact, size_t group);
double xr_fact_group_number(const struct xr_fact *fact, size_t group, size_t i, double otherwise);
const char *xr_fact_group_text(const struct xr_fact *fact, size_t group, size_t i); /* NULL: not a text */

/* A matrix from CPU to CPU ("comm.latency"). */
size_t xr_fact_matrix_size(const struct xr_fact *fact);
int xr_fact_matrix_cpu(const struct xr_fact *fact, size_t i); /* the OS's number of the i-th; -1: not told */
double xr_fact_matrix_at(const struct xr_fact *fact, size_t row, size_t column, double otherwise);

/* The points a fact was decided from, and all that were kept. Live as long as the description. */
struct xr_points {
	const char *id, *x_name, *x_unit, *y_name, *y_unit;
	const double *x, *y;
	size_t n;
};
size_t xr_fact_points(const struct xr_fact *fact); /* how many series */
const char *xr_fact_points_id(const struct xr_fact *fact, size_t i);
bool xr_description_points(const struct xr_description *d, const char *id, struct xr_points *points);
bool xr_description_points_at(const struct xr_description *d, size_t i, struct xr_points *points); /* false: no i-th */

/* Measured once, then read: from a file in `dir` (a directory of the caller's own, made if missing) that belongs
 * to this CPU, kernel, control group and its limits, compiler, version, and what the plan selects. max_age_s:
 * measured anew when older; 0: never. options and plan may be NULL. */
struct xr_description *xr_description_stored(const char *dir, double max_age_s, const struct xr_options *options,
                                             const struct xr_plan *plan, struct xr_error *err);

/* Blocks of a matrix multiply by the model of Low et al. (ACM TOMS 43, 2016): mr × nr of C stay in registers, a
 * sliver of A of kc in the first cache, mc × kc of A in the second, kc × nc of B in the third. mr and nr other
 * than 0 are kept as given. claimed: by the cache sizes that the OS claims; without it, too, for an outer cache whose
 * size could not be measured. -1: the first cache is not known. */
struct xr_blocking {
	int mr, nr, kc, mc, nc;
};
int xr_description_blocking(const struct xr_description *d, int element_bytes, bool claimed, struct xr_blocking *blocking);

/* As JSON in memory. The text is the caller's to free(); NULL: no memory. name: what errors call it. */
char *xr_description_text(const struct xr_description *d);
struct xr_description *xr_description_parse(const char *text, size_t bytes, const char *name, struct xr_error *err);

struct xr_description *xr_description_read(const char *path, struct xr_error *err);             /* "-": standard input */
int xr_description_write(const struct xr_description *d, const char *path, struct xr_error *err); /* "-": standard output */
void xr_description_free(struct xr_description *d);

/* ---- what there is ------------------------------------------------------------------------------------------ */

/* The micro-benchmarks of this build, sorted by id. Lists are NULL-terminated. */
struct xr_listing {
	const char *id, *title;
	const char *const *finds; /* fact ids; `*` stands for one dotted word */
	const char *const *needs;
	double cost_s;
};
bool xr_listing_at(size_t i, struct xr_listing *listing); /* false: there is no i-th */

/* Files to begin with, for a new board, into a folder (made if missing; nothing is written over): docs/boards.md. */
int xr_target_init_dir(const char *dir, struct xr_error *err);

const char *xr_version(void);

/* The known word nearest to a mistyped one, or NULL when none is near. */
const char *xr_suggest(const char *word, const char *const *known, size_t n_known);

#ifdef __cplusplus
}
#endif

#endif

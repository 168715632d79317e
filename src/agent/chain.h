/* SPDX-License-Identifier: MIT */
/* The agent's side of address chains: memory laid out as a specification says, and the loops that walk it.
 *
 * Part of the agent: travels as text, needs nothing but libc (and mmap where there is one).
 *
 *   make()  → ready(), look at the clock, run(), look at the clock → … → free()
 *
 * Chains on the same buffer share memory, so each writes its links anew when another one was there since: that is
 * what ready() does, together with a warm-up, outside the time of the sample.
 */
#ifndef XR_AGENT_CHAIN_H
#define XR_AGENT_CHAIN_H

#include <stddef.h>

struct xr_agent_chain;

/* Call once, before all others. now_ns: the clock, only used for scripts; look_ns: what a look at it costs, taken off
 * each timed phase. limit_bytes: what buffers may take altogether, 0: no limit; buffers nobody uses go first. */
void xr_chain_setup(double (*now_ns)(void), double look_ns, unsigned long long limit_bytes);

/* Times repeat exactly, and every instruction is simulated: walks are warm after few laps, and what the loop around the
 * loads adds to each, on a core that does one thing after the other, is found once and taken off. */
void xr_chain_exact(void);
double xr_chain_overhead_ns(const struct xr_agent_chain *chain); /* per access; 0 unless exact */

/* From the words after "chain" of xr_spec_text(): <buffer id> <bytes> <small|huge|shuffled|any> <cursors> <n_phases>,
 * per phase <read|write|touch> <passes> <timed 0|1> <seed> <n_spans>, per span <base> <stride> <count>;
 * then perhaps unsettled, rolling, storing <bytes of a line>. NULL: error says why. */
struct xr_agent_chain *xr_chain_make(char **words, int n_words, char *error, size_t error_size);

/* 1: a script of phases that looks at the clock itself (reps are repetitions of the script); 0: an endless walk (reps
 * are accesses). */
int xr_chain_is_script(const struct xr_agent_chain *chain);

unsigned long xr_chain_lap(const struct xr_agent_chain *chain); /* steps until every place was visited by some cursor */

/* Untimed, before every sample: writes the links when another chain used the buffer since, and warms the caches up when
 * another chain ran since. */
void xr_chain_ready(struct xr_agent_chain *chain);

/* Endless: `reps` accesses of each cursor from where the last call stopped; returns the accesses of one cursor really
 * done (a few more than asked for). Script: `reps` repetitions; returns the timed accesses, and in *timed_ns (may be
 * NULL for endless walks) the time they took, looks at the clock taken off. */
double xr_chain_run(struct xr_agent_chain *chain, unsigned long reps, double *timed_ns);

/* Something else used the caches: whoever runs next has to warm up. */
void xr_chain_cooled(void);

void xr_chain_free(struct xr_agent_chain *chain); /* NULL is fine; the buffer stays for the next chain that names it */
void xr_chain_release(void);                      /* all buffers, after all chains are freed */

#endif

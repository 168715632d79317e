/* SPDX-License-Identifier: MIT */
/* On which CPU the agent runs.
 *
 * The other hardware thread of a core may be busy, on a virtual machine with anybody's work, for seconds on end;
 * the next core is left alone meanwhile. So an agent may be told of several CPUs that are idle and alike, and
 * goes on on another one when it finds no peace where it is. Which one it was does not matter: every sample
 * carries its own reference.
 */
#ifndef XR_AGENT_WHERE_H
#define XR_AGENT_WHERE_H

/* "3", or "3,1,2": on CPU 3, and on the others if need be. "-1": where the OS puts us. */
void xr_where_init(const char *cpus);
int xr_where(void); /* the CPU; -1: not known */

/* How often this thread was made to wait for another one; always 0 where the OS does not tell. */
long xr_preemptions(void);

/* xr_core_find(known), and then to the CPU whose core is left alone most of the time. */
double xr_where_find(double known);

/* To where the core is left alone most of the time just now, if it is not here. */
void xr_where_settle(void);

/* Something was timed undisturbed: it is good to be here. */
void xr_where_at_peace(void);

/* Called while waiting: after some milliseconds in which nothing was timed undisturbed it goes elsewhere, if there
 * is such a place. */
void xr_where_restless(void);

#endif

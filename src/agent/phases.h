/* SPDX-License-Identifier: MIT */
/* The phases of a chain: from the words of a line to places in a buffer, and which word of its place each may use.
 *
 * Where two phases visit the same place in different orders, the second ring goes through another word of the same 16
 * bytes; where that is taken too, and where one walk visits a word twice, the phase takes its addresses from a table.
 */
#ifndef XR_AGENT_PHASES_H
#define XR_AGENT_PHASES_H

#include <stddef.h>
#include <stdint.h>

enum { XR_AGENT_PHASES = 6 };
enum xr_agent_access { XR_AGENT_READ, XR_AGENT_WRITE, XR_AGENT_TOUCH };

struct xr_agent_phase {
	enum xr_agent_access access;
	unsigned passes;
	int timed, from_table;
	int apart; /* places are of one sequence and so no word is visited twice */
	size_t n;
	uint32_t *unit;   /* addresses in units from the start of the buffer, in order of the walk; slot applied */
	unsigned same_as; /* earlier phase with the same ring, or itself */
};

/* The words of a line, taken one after the other. */
struct xr_agent_words {
	char **word;
	int n, at;
	const char *wrong; /* what was expected where something else, or nothing, was found */
};

unsigned long long xr_phases_number(struct xr_agent_words *w, const char *what);
int xr_phases_name(struct xr_agent_words *w, const char *const *names, const char *what); /* its place among the names */

/* One phase, its places in order; the caller frees p->unit. -1: w->wrong, or no memory. */
int xr_phases_take(struct xr_agent_words *w, struct xr_agent_phase *p, unsigned long long bytes);

/* Chooses the words of all phases of a chain in a buffer of so many bytes. -1: too many on the same words. */
int xr_phases_place(struct xr_agent_phase *phase, unsigned n, unsigned long long bytes);

#endif

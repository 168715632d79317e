/* SPDX-License-Identifier: MIT */
/* The compiler as a command: who it is, how it is called, what it complained of, and what it compiled before.
 *
 * Inside the room only; toolchain.h is its door.
 */
#ifndef XR_TARGET_HOST_COMPILER_H
#define XR_TARGET_HOST_COMPILER_H

#include "target/host/toolchain.h"
#include "util/proc.h"

extern const double xr_compile_timeout_s; /* one run of it */

/* Words of a command line, ended by NULL. The array is the owner's to free, the words live elsewhere. */
struct xr_command {
	const char **argv;
	size_t n, room;
};

void xr_command_add(struct xr_command *c, const char *word);
struct xr_command xr_compiler_command(struct xr_toolchain *tc,
                                      enum xr_flavour flavour); /* as the user gave it, for a flavour */

int xr_command_add_words(struct xr_toolchain *tc, struct xr_command *c, const char *text); /* -1: a quote is open */
const char *xr_compiler_complaint(struct xr_toolchain *tc,
                                  const struct xr_job *job); /* the line that says what is wrong */

/* Where what is compiled under a key lies; whether it was there before, by the cache; and to put it there. */
const char *xr_compiled_path(struct xr_toolchain *tc, uint64_t key, const char *suffix);
bool xr_compiled_before(struct xr_toolchain *tc, uint64_t key, const char *suffix);
void xr_compiled_keep(struct xr_toolchain *tc, uint64_t key, const char *suffix);

#endif

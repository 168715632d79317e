/* SPDX-License-Identifier: MIT */
#include "infer/policy.h"

#include <string.h>

enum { WAYS_MAX = 64 };

const char *const xr_policy_names[] = {"lru", "plru", "nru", "fifo", "random", "srrip", "mru_n", "nru_late", NULL};

/* ---- groups ---- */

int xr_policy_lru_plru(uint32_t groups, uint32_t leaves)
{
	if (groups < 1 || groups > 16 || leaves < 2 || groups * leaves > WAYS_MAX || (leaves & (leaves - 1)))
		return -1;
	return (int)(XR_LRU_PLRU | groups << 8 | leaves << 16);
}

/* ---- qlru: the bits of a policy's number ---- */

int xr_policy_qlru(const struct xr_qlru *q)
{
	bool hits = (q->hit3 == 0 && q->hit2 == 0) || ((q->hit3 == 1 || q->hit3 == 2) && q->hit2 <= 1);
	if (!hits || q->miss > 3 || q->rarely > q->miss || q->replace > 2 || q->update > 3)
		return -1;
	if (q->replace != 1 && q->update > 1)
		return -1; /* a victim of age 3 might not be there */
	return XR_QLRU | q->hit3 << 8 | q->hit2 << 10 | q->miss << 12 | q->rarely << 14 | q->replace << 16 |
	       q->update << 18 | q->misses_only << 20;
}

/* ---- names ---- */

/* Takes a word off the front of *at. */
static bool take(const char **at, const char *word)
{
	size_t n = strlen(word);
	if (strncmp(*at, word, n))
		return false;
	*at += n;
	return true;
}

static bool take_digit(const char **at, uint8_t *out)
{
	if (**at < '0' || **at > '3')
		return false;
	*out = (uint8_t)(*(*at)++ - '0');
	return true;
}

static bool take_number(const char **at, uint32_t *out)
{
	const char *start = *at;
	for (*out = 0; **at >= '0' && **at <= '9' && *at - start < 3; (*at)++)
		*out = *out * 10 + (uint32_t)(**at - '0');
	return *at > start && *start != '0';
}

static int parse_qlru(const char *at)
{
	struct xr_qlru q = {0};
	if (!take(&at, "_h") || !take_digit(&at, &q.hit3) || !take_digit(&at, &q.hit2) || !take(&at, "_m"))
		return -1;
	bool random = take(&at, "r");
	if (!take_digit(&at, &q.miss))
		return -1;
	q.rarely = q.miss;
	if (random && (!take_digit(&at, &q.rarely) || q.rarely == q.miss))
		return -1;
	if (!take(&at, "_r") || !take_digit(&at, &q.replace) || !take(&at, "_u") || !take_digit(&at, &q.update))
		return -1;
	q.misses_only = take(&at, "_umo");
	return *at ? -1 : xr_policy_qlru(&q);
}

static int parse_groups(const char *at)
{
	uint32_t groups, leaves;
	if (!take_number(&at, &groups) || !take(&at, "plru") || !take_number(&at, &leaves) || *at)
		return -1;
	return xr_policy_lru_plru(groups, leaves);
}

int xr_policy_parse(const char *name)
{
	for (int i = 0; xr_policy_names[i]; i++)
		if (!strcmp(name, xr_policy_names[i]))
			return i;
	if (!strcmp(name, "mru"))
		return XR_NRU;
	if (take(&name, "qlru"))
		return parse_qlru(name);
	return take(&name, "lru") ? parse_groups(name) : -1;
}

static char *put(char *to, const char *word)
{
	while (*word)
		*to++ = *word++;
	*to = '\0';
	return to;
}

static char *put_number(char *to, uint32_t n)
{
	if (n >= 10)
		to = put_number(to, n / 10);
	*to++ = (char)('0' + n % 10);
	*to = '\0';
	return to;
}

void xr_policy_text(int policy, char name[static XR_POLICY_TEXT])
{
	enum xr_policy kind = xr_policy_kind(policy);
	if (kind < XR_N_POLICIES) {
		put(name, xr_policy_names[kind]);
		return;
	}
	if (kind == XR_LRU_PLRU) {
		name = put_number(put(name, "lru"), xr_policy_groups(policy));
		put_number(put(name, "plru"), xr_policy_leaves(policy));
		return;
	}
	const struct xr_qlru q = xr_policy_qlru_of(policy);
	name = put_number(put_number(put(name, "qlru_h"), q.hit3), q.hit2);
	name = put_number(put(name, q.rarely == q.miss ? "_m" : "_mr"), q.miss);
	if (q.rarely != q.miss)
		name = put_number(name, q.rarely);
	name = put_number(put(name, "_r"), q.replace);
	name = put_number(put(name, "_u"), q.update);
	put(name, q.misses_only ? "_umo" : "");
}

/* ---- what they need ---- */

bool xr_policy_takes_ways(int policy, uint64_t ways)
{
	if (xr_policy_kind(policy) == XR_LRU_PLRU)
		return ways == (uint64_t)xr_policy_groups(policy) * xr_policy_leaves(policy);
	return ways > 0;
}

static bool keeps_age(int policy)
{
	return policy == XR_SRRIP || policy == XR_RANDOM || xr_policy_kind(policy) == XR_QLRU;
}

bool xr_policy_shares_state(int policy, int other)
{
	return keeps_age(policy) && keeps_age(other);
}

bool xr_policy_is_random(int policy)
{
	if (xr_policy_kind(policy) != XR_QLRU)
		return policy == XR_RANDOM;
	const struct xr_qlru q = xr_policy_qlru_of(policy);
	return q.rarely != q.miss;
}

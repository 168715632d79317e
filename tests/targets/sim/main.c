/* SPDX-License-Identifier: MIT */
/* The program and what it asks of its operating system. */
#include "sim.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

void die(const struct cpu *c, const char *why)
{
	fprintf(stderr, "sim: %s at %lx\n", why, c->pc);
	exit(70);
}

enum { PAGE = 4096, STACK = 1 << 20 };
static const uint64_t top = UINT64_C(0xF0000000), first_map = UINT64_C(0x40000000);

static uint64_t round_up(uint64_t n)
{
	return (n + PAGE - 1) / PAGE * PAGE;
}

static uint64_t map(struct cpu *c, uint64_t length)
{
	uint64_t address = c->mapped;
	if (length > top - STACK - address)
		return (uint64_t)-ENOMEM;
	c->mapped += round_up(length);
	return address;
}

static uint64_t look_at_clock(struct cpu *c, uint64_t to)
{
	struct timespec wall;
	timing_drain(&c->t);
	double ns = (double)c->t.cycle * (1e9 / c->t.hz);
	if (c->t.clock == CLOCK_COUNTER || (c->t.clock == CLOCK_DAY && c->x[17] != 169))
		return (uint64_t)-ENOSYS;
	if (c->t.clock == CLOCK_WALL) {
		clock_gettime(CLOCK_MONOTONIC_RAW, &wall);
		ns = (double)wall.tv_sec * 1e9 + (double)wall.tv_nsec;
	}
	if (c->t.clock == CLOCK_US)
		ns -= fmod(ns, 1000);
	int64_t t[2] = {(int64_t)(ns / 1e9), 0};
	t[1] = (int64_t)(ns - (double)t[0] * 1e9);
	if (c->x[17] == 169)
		t[1] /= 1000;
	memcpy(c->memory + to, t, sizeof t);
	return 0;
}

static uint64_t write_all(struct cpu *c, uint64_t fd, uint64_t iov, uint64_t n)
{
	uint64_t sum = 0, part[2];
	for (uint64_t i = 0; i < n; i++) {
		memcpy(part, c->memory + iov + 16 * i, sizeof part);
		ssize_t done = write((int)fd, c->memory + part[0], part[1]);
		if (done < 0)
			return (uint64_t)-errno;
		sum += (uint64_t)done;
	}
	return sum;
}

/* Said again and again, for a program that talks may be ended at any time. */
static void note_statistics(const struct cpu *c)
{
	char line[64];
	if (c->stats < 0)
		return;
	int n = snprintf(line, sizeof line, "%20lu %20lu\n", c->t.instructions, c->t.cycle);
	if (pwrite(c->stats, line, (size_t)n, 0) != n)
		perror("sim: statistics");
}

/* Numbers of Linux; what is not here does not exist. */
void system_call(struct cpu *c)
{
	uint64_t *a = c->x + 10, result = (uint64_t)-ENOSYS;
	ssize_t n;
	switch (c->x[17]) {
	case 63:
		n = read((int)a[0], c->memory + a[1], a[2]);
		result = n < 0 ? (uint64_t)-errno : (uint64_t)n;
		break;
	case 64:
		note_statistics(c);
		n = write((int)a[0], c->memory + a[1], a[2]);
		result = n < 0 ? (uint64_t)-errno : (uint64_t)n;
		break;
	case 66:
		note_statistics(c);
		result = write_all(c, a[0], a[1], a[2]);
		break;
	case 93:
	case 94:
		c->ended = 1;
		c->status = (int)a[0];
		break;
	case 96:
	case 172:
	case 178:
		result = 1;
		break; /* of threads and processes */
	case 113:
	case 169: /* gettimeofday */
		result = look_at_clock(c, c->x[17] == 169 ? a[0] : a[1]);
		break;
	case 134:
	case 135:
	case 226:
	case 259:
	case 62:
		result = 0;
		break; /* signals, mprotect, caches, seek */
	case 214:
		if (a[0] > c->brk && a[0] < first_map)
			c->brk = a[0];
		result = c->brk;
		break;
	case 215:
		if (a[0] >= first_map) /* read as zeros again */
			madvise(c->memory + a[0], round_up(a[1]), MADV_DONTNEED);
		if (a[0] + round_up(a[1]) == c->mapped)
			c->mapped = a[0];
		result = 0;
		break;
	case 222:
		result = (int)a[4] >= 0 ? (uint64_t)-EBADF : map(c, a[1]);
		break;
	case 80:
	case 291:
		result = (uint64_t)-EBADF;
		break;
	default:
		break;
	}
	a[0] = result;
}

static int load_program(struct cpu *c, const char *path, Elf64_Ehdr *header)
{
	Elf64_Phdr p;
	uint64_t table = 0;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || pread(fd, header, sizeof *header, 0) != sizeof *header ||
	    memcmp(header->e_ident, ELFMAG, SELFMAG) || header->e_machine != EM_RISCV)
		return -1;
	for (int i = 0; i < header->e_phnum; i++) {
		if (pread(fd, &p, sizeof p, (off_t)(header->e_phoff + (uint64_t)i * sizeof p)) != sizeof p)
			return -1;
		if (p.p_type == PT_INTERP || p.p_vaddr + p.p_memsz > first_map)
			return -1;
		if (p.p_type != PT_LOAD)
			continue;
		if (pread(fd, c->memory + p.p_vaddr, p.p_filesz, (off_t)p.p_offset) != (ssize_t)p.p_filesz)
			return -1;
		if (p.p_vaddr + p.p_memsz > c->brk)
			c->brk = round_up(p.p_vaddr + p.p_memsz);
		if (p.p_offset == 0)
			table = p.p_vaddr + header->e_phoff;
	}
	header->e_phoff = table; /* an address from here on */
	close(fd);
	return 0;
}

static uint64_t push(struct cpu *c, uint64_t *sp, const void *data, size_t n)
{
	*sp -= n;
	memcpy(c->memory + *sp, data, n);
	return *sp;
}

/* argc, argv, no environment, what the C library asks of the kernel. */
static void lay_out_stack(struct cpu *c, int argc, char **argv, const Elf64_Ehdr *header)
{
	uint64_t sp = top, words[128] = {0};
	int n = 1;
	words[0] = (uint64_t)argc;
	for (int i = 0; i < argc && i < 64; i++)
		words[n++] = push(c, &sp, argv[i], strlen(argv[i]) + 1);
	n += 2;
	uint64_t random = push(c, &sp, "sixteen bytes...", 16);
	const uint64_t pairs[][2] = {{AT_PHDR, header->e_phoff},
	                             {AT_PHENT, sizeof(Elf64_Phdr)},
	                             {AT_PHNUM, header->e_phnum},
	                             {AT_PAGESZ, PAGE},
	                             {AT_ENTRY, header->e_entry},
	                             {AT_RANDOM, random},
	                             {AT_SECURE, 0},
	                             {AT_NULL, 0}};
	memcpy(words + n, pairs, sizeof pairs);
	n += (int)(sizeof pairs / sizeof **pairs);
	sp = (sp - (uint64_t)n * 8) & ~UINT64_C(15);
	memcpy(c->memory + sp, words, (size_t)n * 8);
	c->x[2] = sp;
	c->pc = header->e_entry;
}

static void set(struct cpu *c, const char *word)
{
	char key[16];
	size_t n = strcspn(word, "=");
	snprintf(key, sizeof key, "%.*s", (int)n, word);
	if (!strcmp(key, "stats")) {
		char name[4096];
		snprintf(name, sizeof name, "%s.%d", word + n + 1, (int)getpid());
		c->stats = open(name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	} else if (timing_set(&c->t, key, word + n + 1)) {
		fprintf(stderr, "sim: what is %s?\n", word);
		exit(2);
	}
}

static void keep_pace(const struct cpu *c)
{
	static double start;
	struct timespec now, wait = {0, 1000000};
	clock_gettime(CLOCK_MONOTONIC, &now);
	double wall = (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
	if (start <= 0)
		start = wall;
	for (double ahead = start + (double)c->t.instructions / (1e6 * c->t.speed) - wall; ahead > 0; ahead -= 1e-3)
		nanosleep(&wait, NULL);
}

int main(int argc, char **argv)
{
	static const char *const defaults[] = {"l1d=16K:4:64:3", "l1i=16K:4:64:1", "l2=256K:8:64:14", "dtlb=32:32:20",
	                                       "itlb=32:32:20",  "memory=90",      "mul=3",           "div=20",
	                                       "fp=4",           "fdiv=18",        "taken=1",         "hz=1e9",
	                                       "width=1"};
	static struct cpu c;
	Elf64_Ehdr header;
	int i = 1;
	c.stats = -1;
	c.t.page = PAGE;
	for (size_t k = 0; k < sizeof defaults / sizeof *defaults; k++)
		set(&c, defaults[k]);
	for (; i < argc && strcspn(argv[i], "=") < strcspn(argv[i], "/"); i++)
		set(&c, argv[i]);
	c.memory = mmap(NULL, UINT64_C(1) << MEMORY_BITS, PROT_READ | PROT_WRITE,
	                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (i >= argc || c.memory == MAP_FAILED || load_program(&c, argv[i], &header)) {
		fprintf(stderr, "sim: [KEY=VALUE...] PROGRAM [ARGUMENT...], a static one for riscv64\n");
		return 2;
	}
	c.mapped = first_map;
	lay_out_stack(&c, argc - i, argv + i, &header);
	while (!c.ended) {
		cpu_step(&c);
		if (c.t.speed > 0 && c.t.instructions % 10000 == 0)
			keep_pace(&c);
	}
	note_statistics(&c);
	return c.status;
}

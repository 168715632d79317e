/* SPDX-License-Identifier: MIT */
/* Feeds files to a fuzz target where there is no libFuzzer: replays what once broke it. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int feed(const char *path)
{
	FILE *file = fopen(path, "rb");
	if (!file) {
		perror(path);
		return -1;
	}
	uint8_t *data = NULL;
	size_t size = 0, room = 0, got = 0;
	do {
		size += got;
		if (size == room) {
			room = room ? room * 2 : 4096;
			data = realloc(data, room);
			if (!data)
				abort();
		}
		got = fread(data + size, 1, room - size, file);
	} while (got);
	fclose(file);
	uint8_t *exact = malloc(size ? size : 1); /* no slack behind the last byte: sanitizers see an overrun */
	if (!exact)
		abort();
	for (size_t i = 0; i < size; i++)
		exact[i] = data[i];
	free(data);
	LLVMFuzzerTestOneInput(exact, size);
	free(exact);
	return 0;
}

int main(int argc, char **argv)
{
	int bad = 0;
	for (int i = 1; i < argc; i++)
		bad |= feed(argv[i]);
	return bad ? 1 : 0;
}

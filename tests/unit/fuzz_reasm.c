/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Programs of fragments, time and flushes against reassembly and its reference (reasm_rig.h). What differs
 * aborts.
 *
 * With -DFUZZ_LIBFUZZER=1 a libFuzzer target. Otherwise a program:
 *	--runs N --seed S          N random programs
 *	--corpus FILE              those of the file, one a line, in hexadecimal digits
 *	--corpus FILE --unpack DIR write them to the folder as files, for libFuzzer to begin with
 *	FILE...                    a file that libFuzzer has written
 */
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ut_eal.h"

#include "reasm_rig.h"

#define PROGRAM_MAX 4096

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerInitialize(int *argc, char ***argv);

static void
die(const char *text)
{
	fprintf(stderr, "%s\n", text);
	abort();
}

int
LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	rr_die = die;
	return ut_eal_init(1, NULL);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	rr_run(data, size < PROGRAM_MAX ? size : PROGRAM_MAX);
	return 0;
}

#ifndef FUZZ_LIBFUZZER

static uint8_t data[PROGRAM_MAX];

static uint64_t
next(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

static int
replay(const char *path)
{
	FILE *f = fopen(path, "rb");
	size_t n;

	if (f == NULL) {
		perror(path);
		return 1;
	}
	n = fread(data, 1, sizeof(data), f);
	fclose(f);
	return LLVMFuzzerTestOneInput(data, n);
}

static int
unpack(const char *dir, unsigned int number, size_t n)
{
	char path[4096];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%u", dir, number);
	f = fopen(path, "wb");
	if (f == NULL || fwrite(data, 1, n, f) != n || fclose(f) != 0) {
		perror(path);
		return 1;
	}
	return 0;
}

static int
corpus(const char *path, const char *dir)
{
	static char line[2 * PROGRAM_MAX + 2];
	FILE *f = fopen(path, "r");
	unsigned int number = 0;
	int bad = 0;

	if (f == NULL) {
		perror(path);
		return 1;
	}
	while (bad == 0 && fgets(line, sizeof(line), f) != NULL) {
		unsigned int byte;
		size_t n = 0;

		if (line[0] == '#')
			continue;
		while (n < PROGRAM_MAX && sscanf(line + 2 * n, "%2x", &byte) == 1)
			data[n++] = (uint8_t)byte;
		number++;
		bad = dir != NULL ? unpack(dir, number, n) : LLVMFuzzerTestOneInput(data, n);
	}
	fclose(f);
	printf("%u programs of %s\n", number, path);
	return bad != 0 || number == 0;
}

int
main(int argc, char **argv)
{
	uint64_t runs = 0;
	uint64_t seed = 1;
	const char *file = NULL;
	const char *dir = NULL;

	if (LLVMFuzzerInitialize(&argc, &argv) != 0)
		return 1;
	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--runs") == 0 && i + 1 < argc)
			runs = strtoull(argv[++i], NULL, 0);
		else if (strcmp(argv[i], "--seed") == 0 && i + 1 < argc)
			seed = strtoull(argv[++i], NULL, 0);
		else if (strcmp(argv[i], "--corpus") == 0 && i + 1 < argc)
			file = argv[++i];
		else if (strcmp(argv[i], "--unpack") == 0 && i + 1 < argc)
			dir = argv[++i];
		else if (replay(argv[i]) != 0)
			return 1;
	}
	if (file != NULL && corpus(file, dir) != 0)
		return 1;
	for (uint64_t r = 0; r < runs; r++) {
		uint64_t state = (seed + r) * UINT64_C(0x9E3779B97F4A7C15) + 1;
		size_t n = 8 + next(&state) % 200;

		for (size_t i = 0; i < n; i++)
			data[i] = (uint8_t)(next(&state) >> 24);
		LLVMFuzzerTestOneInput(data, n);
	}
	printf("%" PRIu64 " random programs from seed %" PRIu64 "\n", runs, seed);
	return 0;
}

#endif

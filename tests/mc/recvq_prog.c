/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * See recvq_prog.h. Compiled as recvq.c is: what the programs do with the datagrams themselves is
 * watched for races, too. The books that the checks are made from lie outside of what is watched; only one
 * thread runs at a time.
 */
#include "recvq_prog.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "mbuf.h"
#include "recvq.h"

#define EACH  8 /* datagrams of a producer at most */
#define ITEMS (2 * EACH)
#define SIZE  100

int weir_meta_offset = offsetof(struct rte_mbuf, dynfield1);

struct item {
	struct rte_mbuf m;
	uint64_t buf[24];
};

static struct {
	struct weir_recvq q;
	struct item item[ITEMS];
	/* The program's own: reports, socket closed, producers gone, datagrams queued. */
	uint32_t wakes, closed, gone, queued;
} mem;

static const struct rq_prog *prog;
static unsigned int n_producers;
static bool weak; /* loads may return old values */

/* The books. */
static struct {
	bool accepted[ITEMS], taken[ITEMS];
	unsigned int made[2];
	unsigned int next[MC_THREADS + 1][2]; /* of each reader, and of the end */
	unsigned int n_accepted, n_refused, n_taken, refused_by[2];
	unsigned int refused_before[ITEMS]; /* known to be, when it was accepted */
	uint32_t drops;                     /* of the last datagram taken */
} book;

/* A look at a word of the queue that is no step of the program. */
__attribute__((no_sanitize("thread"))) static uint64_t
look(const volatile void *p)
{
	return *(const volatile uint64_t *)p;
}

static void
init(void)
{
	memset(&mem, 0, sizeof(mem));
	memset(&book, 0, sizeof(book));
	weir_recvq_init(&mem.q, prog->limit);
	weir_recvq_set_readers(&mem.q, prog->several);
}

static uint32_t
size_of(const struct rq_burst *b, unsigned int i)
{
	return b->odd && (i & 1) != 0 ? 2 * SIZE : SIZE;
}

/* ---- producers ---- */

static void
produce(unsigned int self, const struct rq_burst *burst)
{
	struct rte_mbuf *m[EACH];
	uint32_t size[EACH];
	struct weir_recvq_batch b = {
		.m = m,
		.size = burst->odd ? size : NULL,
		.each = SIZE,
		.n = burst->n,
		.port = (uint16_t)self,
	};
	/* All of them before this call; with old values, those that this producer knows of. */
	const unsigned int refused = weak ? book.refused_by[self] : book.n_refused;
	const uint64_t held = look(&mem.q.charged) - look(&mem.q.released);
	const uint64_t queued = look(&mem.q.n_queued);
	const uint64_t limit = look(&mem.q.limit);
	unsigned int took;

	for (unsigned int i = 0; i < burst->n; i++) {
		unsigned int id = self * EACH + book.made[self]++;

		m[i] = &mem.item[id].m;
		size[i] = size_of(burst, i);
		m[i]->buf_addr = mem.item[id].buf;
		m[i]->buf_len = sizeof(mem.item[id].buf);
		m[i]->data_off = WEIR_RUN_BYTES;
		m[i]->refcnt = 1;
		m[i]->pkt_len = 1000 + id; /* for the reader to find */
	}
	b.time_ns = 7 + self;
	took = weir_recvq_produce(&mem.q, &b);
	mc_check(took <= burst->n, "took %u of %u", took, burst->n);
	for (unsigned int i = 0; i < burst->n; i++) {
		unsigned int id = self * EACH + book.made[self] - burst->n + i;

		if (i < took) {
			book.accepted[id] = true;
			book.refused_before[id] = refused;
		} else {
			mc_check(!book.taken[id], "refused and yet taken");
			m[i]->pkt_len = 0; /* it is ours again */
		}
	}
	book.n_accepted += took;
	book.n_refused += burst->n - took;
	book.refused_by[self] += burst->n - took;
	if (took < burst->n && !weak) { /* with old values it may have looked fuller than it was */
		/* That can have been held meanwhile: a reader may have given back what was added. */
		uint64_t most = RTE_MAX(held + (look(&mem.q.n_queued) - queued) * 2 * SIZE,
					look(&mem.q.charged) - look(&mem.q.released));

		mc_check(most != 0 &&
				 most + size_of(burst, took) > RTE_MIN(limit, look(&mem.q.limit)),
			 "refused with at most %" PRIu64 " bytes held", most);
	}
	mc_check(b.wake == 0 || b.wake == took, "%u reported of %u", b.wake, took);
	if (b.wake > 0)
		mc_add(&mem.wakes, 1);
	if (took > 0)
		mc_add(&mem.queued, took);
}

static void
producer(unsigned int self)
{
	for (unsigned int i = 0; i < RQ_BURSTS && prog->burst[self][i].n != 0; i++) {
		/* A closed socket is not found any more. */
		if (prog->reader[0].kind == RQ_CLOSE && mc_load(&mem.closed) != 0)
			break;
		produce(self, &prog->burst[self][i]);
	}
	if (prog->reader[0].kind == RQ_CLOSE)
		mc_add(&mem.gone, 1);
}

/* ---- readers ---- */

static unsigned int
id_of(const struct rte_mbuf *m)
{
	size_t off = (size_t)((const char *)m - (const char *)mem.item);

	mc_check(off < sizeof(mem.item) && off % sizeof(mem.item[0]) == 0, "a stray pointer");
	return (unsigned int)(off / sizeof(mem.item[0]));
}

/* A datagram has been taken off the queue. It may be taken before its producer knows that it was queued. */
static void
taken(unsigned int self, struct rte_mbuf *m)
{
	unsigned int id = id_of(m);
	unsigned int producer_of = id / EACH;
	unsigned int seq = id % EACH;

	mc_check(!book.taken[id], "datagram %u of producer %u comes twice", seq, producer_of);
	mc_check(seq >= book.next[self][producer_of], "datagram %u of producer %u comes late", seq,
		 producer_of);
	mc_check(m->pkt_len == 1000 + id, "datagram %u of producer %u is not whole", seq,
		 producer_of);
	book.next[self][producer_of] = seq + 1;
	book.taken[id] = true;
	book.n_taken++;
	m->pkt_len = 0; /* it is ours */
}

static unsigned int
take(unsigned int self, unsigned int n)
{
	struct weir_recvq_facts facts;
	struct rte_mbuf *m[EACH];
	unsigned int got = weir_recvq_take(&mem.q, m, n, &facts);

	mc_check(got <= n, "%u instead of %u", got, n);
	for (unsigned int i = 0; i < got; i++) {
		unsigned int id = id_of(m[i]);

		mc_check(facts.port == id / EACH && facts.time_ns == 7 + id / EACH,
			 "facts of another batch");
		if (!prog->several) {
			mc_check((int32_t)(facts.drops - book.drops) >= 0, "drops go back");
			mc_check((int32_t)(facts.drops - book.refused_before[id]) >= 0,
				 "%u drops, %u were told", facts.drops, book.refused_before[id]);
			book.drops = facts.drops;
		}
		taken(self, m[i]);
	}
	return got;
}

static void
poll_reader(unsigned int self, unsigned int rounds, unsigned int n)
{
	struct rte_mbuf *m[EACH];

	for (unsigned int i = 0; i < rounds; i++) {
		unsigned int got;

		if (n == 1)
			got = (m[0] = weir_recvq_take_one(&mem.q)) != NULL;
		else
			got = weir_recvq_consume(&mem.q, m, n);
		for (unsigned int k = 0; k < got; k++)
			taken(self, m[k]);
	}
}

/*
 * As event.c does it: read the word that every report moves, arm, look, sleep until it moves. Alone, the
 * reader takes the arming back when it is awake.
 */
static void
sleeping_reader(unsigned int self, uint64_t want)
{
	uint64_t got = 0;

	while (got < want) {
		unsigned int k = take(self, (unsigned int)(want - got));
		uint32_t seq;

		got += k;
		if (k > 0)
			continue;
		seq = mc_load(&mem.wakes);
		if (weir_recvq_arm(&mem.q))
			mc_await(&mem.wakes, seq + 1);
		if (!prog->several)
			weir_recvq_disarm(&mem.q);
	}
}

static void
peeking_reader(unsigned int self, unsigned int rounds, unsigned int n)
{
	for (unsigned int i = 0; i < rounds; i++) {
		unsigned int seen[ITEMS];
		unsigned int n_seen = 0;
		struct rte_mbuf *m[EACH];
		struct weir_recvq_pos pos;
		unsigned int got;

		weir_recvq_hold(&mem.q);
		for (struct rte_mbuf *p = weir_recvq_first(&mem.q, &pos); p != NULL;
		     p = weir_recvq_next(&mem.q, &pos)) {
			unsigned int id = id_of(p);

			mc_check(n_seen < ITEMS, "the walk has no end");
			mc_check(p->pkt_len == 1000 + id && !book.taken[id], "seen: %u", id);
			mc_check(pos.facts.port == id / EACH, "facts of another batch");
			seen[n_seen++] = id;
		}
		weir_recvq_unhold(&mem.q);
		got = weir_recvq_consume(&mem.q, m, n);
		if (!prog->several) {
			mc_check(got >= RTE_MIN(n, n_seen), "seen %u, got %u", n_seen, got);
			for (unsigned int k = 0; k < got && k < n_seen; k++)
				mc_check(id_of(m[k]) == seen[k], "seen another one");
		}
		for (unsigned int k = 0; k < got; k++)
			taken(self, m[k]);
	}
}

static void
closing_reader(unsigned int self, unsigned int rounds, unsigned int n)
{
	struct rte_mbuf *m, *next;

	poll_reader(self, rounds, n);
	mc_store(&mem.closed, 1);
	mc_await(&mem.gone, n_producers); /* the grace period */
	for (m = weir_recvq_purge(&mem.q); m != NULL; m = next) {
		next = weir_meta(m)->next;
		taken(self, m);
	}
}

static void
reader(unsigned int self)
{
	unsigned int r = self - n_producers;
	unsigned int rounds = prog->reader[r].rounds;
	uint64_t n = prog->reader[r].n;

	switch (prog->reader[r].kind) {
	case RQ_POLL:
		poll_reader(self, rounds, (unsigned int)n);
		break;
	case RQ_SLEEP:
		sleeping_reader(self, n);
		break;
	case RQ_PEEK:
		peeking_reader(self, rounds, (unsigned int)n);
		break;
	case RQ_CLOSE:
		closing_reader(self, rounds, (unsigned int)n);
		break;
	case RQ_LIMIT:
		weir_recvq_set_limit(&mem.q, n);
		break;
	case RQ_READABLE:
		mc_await(&mem.queued, 1);
		mc_check(weir_recvq_readable(&mem.q), "not readable, with a datagram queued");
		break;
	default:
		break;
	}
}

/* ---- always, and at the end ---- */

/* Between two steps, and nobody is changing the shared queue. */
static void
step(void)
{
	uint64_t limit = RTE_MAX(prog->limit, (uint64_t)2 * SIZE);
	uint64_t held;

	if (mem.q.lock != 0)
		return;
	for (unsigned int r = 0; r < 2; r++)
		if (prog->reader[r].kind == RQ_LIMIT && prog->reader[r].n > limit)
			limit = prog->reader[r].n;
	held = look(&mem.q.charged) - look(&mem.q.released);
	mc_check(held <= limit, "%" PRIu64 " bytes held, %" PRIu64 " allowed", held, limit);
}

static void
final(void)
{
	if (prog->reader[0].kind != RQ_CLOSE)
		while (take(MC_THREADS, EACH) > 0)
			;
	for (unsigned int i = 0; i < ITEMS; i++)
		mc_check(book.accepted[i] == book.taken[i], "datagram %u of producer %u is lost",
			 i % EACH, i / EACH);
	mc_check(weir_recvq_charge(&mem.q) == 0, "%" PRIu64 " bytes left charged",
		 weir_recvq_charge(&mem.q));
	mc_check(weir_recvq_depth(&mem.q) == 0, "depth %" PRIu64, weir_recvq_depth(&mem.q));
	mc_check(!weir_recvq_readable(&mem.q), "readable, but empty");
	mc_check(weir_recvq_arrivals(&mem.q) == book.n_accepted, "arrivals");
	mc_check(weir_counter_read(&mem.q.n_full) == book.n_refused, "%" PRIu64 " refused, not %u",
		 weir_counter_read(&mem.q.n_full), book.n_refused);
}

static const char *
where(const void *p)
{
	static const struct {
		size_t off;
		const char *name;
	} names[] = {
#define NAME(f) {offsetof(struct weir_recvq, f), #f}
		NAME(lock),     NAME(armed),  NAME(several),       NAME(n),        NAME(drops_told),
		NAME(head),     NAME(tail),   NAME(charged),       NAME(r_head),   NAME(r_tail),
		NAME(owed),     NAME(limit),  NAME(released_seen), NAME(lump),     NAME(n_queued),
		NAME(n_full),   NAME(n_read), NAME(n_mem_limit),   NAME(drops),    NAME(r_at),
		NAME(released), NAME(r_lock), NAME(n_splices),     NAME(n_purged),
	};
	static char buf[48];
	size_t off = (size_t)((const char *)p - (const char *)&mem.q);

	for (size_t i = 0; i < RTE_DIM(names); i++)
		if (names[i].off == off)
			return names[i].name;
	off = (size_t)((const char *)p - (const char *)mem.item);
	if (off < sizeof(mem.item)) {
		snprintf(buf, sizeof(buf), "datagram %zu+%zu", off / sizeof(mem.item[0]),
			 off % sizeof(mem.item[0]));
		return buf;
	}
	return NULL;
}

/* ---- the programs ---- */

/* clang-format off */
#define EVEN(k)          {.n = (k), .odd = false}
#define ODD(k)           {.n = (k), .odd = true}
#define ALL(s)           {.mode = MC_ALL, .stale = (s)}
#define ALL_SLOW(s)      {.mode = MC_ALL, .stale = (s), .slow = true}
#define BOUND(p, s)      {.mode = MC_BOUNDED, .preemptions = (p), .stale = (s), .spin = 2}
#define BOUND_SLOW(p, s) {.mode = MC_BOUNDED, .preemptions = (p), .stale = (s), .spin = 2, .slow = true}

const struct rq_prog rq_progs[] = {
	{
		.name = "one producer, one reader",
		.limit = 350,
		.burst = {{EVEN(2), ODD(3), EVEN(1)}},
		.reader = {{RQ_POLL, 4, 2}},
		.how = {ALL(0), ALL(1), ALL(2), BOUND(2, 1), ALL_SLOW(4), BOUND_SLOW(4, 1)},
	}, {
		.name = "one producer, one reader, one at a time",
		.limit = 450,
		.burst = {{EVEN(3), EVEN(2)}},
		.reader = {{RQ_POLL, 5, 1}},
		.how = {ALL(0), ALL(1), BOUND(2, 0), ALL_SLOW(2), BOUND_SLOW(3, 1)},
	}, {
		.name = "two producers, one reader",
		.limit = 100 * SIZE,
		.burst = {{EVEN(2), EVEN(1)}, {ODD(1), ODD(3)}},
		.reader = {{RQ_POLL, 3, 2}},
		.how = {ALL(0), BOUND(1, 1), ALL_SLOW(1), BOUND_SLOW(3, 0), BOUND_SLOW(2, 1)},
	}, {
		.name = "a limit of two datagrams and a half",
		.limit = 250,
		.burst = {{EVEN(2), EVEN(1)}, {EVEN(2)}},
		.reader = {{RQ_POLL, 2, 2}},
		.how = {ALL(0), ALL(1), BOUND(2, 0), ALL_SLOW(2), BOUND_SLOW(3, 0), BOUND_SLOW(2, 1)},
	}, {
		.name = "a limit of two datagrams and a half, longer",
		.limit = 250,
		.burst = {{EVEN(2), EVEN(1)}, {EVEN(1), EVEN(2)}},
		.reader = {{RQ_POLL, 3, 2}},
		.how = {ALL_SLOW(0), BOUND_SLOW(2, 1)},
	}, {
		.name = "a limit below one datagram",
		.limit = 10,
		.burst = {{EVEN(1), EVEN(2)}, {ODD(1)}},
		.reader = {{RQ_POLL, 3, 1}},
		.how = {ALL(0), ALL(1), ALL_SLOW(2), BOUND_SLOW(3, 1)},
	}, {
		.name = "a reader that sleeps",
		.limit = 100 * SIZE,
		.burst = {{EVEN(1), EVEN(1)}, {EVEN(2)}},
		.reader = {{RQ_SLEEP, 0, 4}},
		.how = {ALL(0), ALL(1), BOUND(1, 1), ALL_SLOW(2), BOUND_SLOW(3, 1)},
	}, {
		.name = "two readers that sleep",
		.limit = 100 * SIZE,
		.burst = {{EVEN(2), EVEN(1)}},
		.reader = {{RQ_SLEEP, 0, 1}, {RQ_SLEEP, 0, 2}},
		.several = true,
		.how = {ALL(0), ALL(1), BOUND(2, 0), ALL_SLOW(2), BOUND_SLOW(3, 0), BOUND_SLOW(2, 1)},
	}, {
		.name = "a peeking reader",
		.limit = 100 * SIZE,
		.burst = {{EVEN(2), EVEN(1)}, {ODD(2)}},
		.reader = {{RQ_PEEK, 2, 1}},
		.how = {ALL(0), ALL(1), BOUND(1, 0), ALL_SLOW(2), BOUND_SLOW(3, 0), BOUND_SLOW(2, 1)},
	}, {
		.name = "two readers",
		.limit = 250,
		.burst = {{EVEN(2), EVEN(1)}},
		.reader = {{RQ_POLL, 2, 1}, {RQ_PEEK, 1, 2}},
		.several = true,
		.how = {ALL(0), ALL(1), BOUND(2, 0), ALL_SLOW(2), BOUND_SLOW(3, 0), BOUND_SLOW(2, 1)},
	}, {
		.name = "two producers, two readers",
		.limit = 250,
		.burst = {{EVEN(2)}, {EVEN(1), EVEN(1)}},
		.reader = {{RQ_POLL, 2, 1}, {RQ_POLL, 1, 2}},
		.several = true,
		.how = {ALL_SLOW(0), ALL_SLOW(1), BOUND_SLOW(2, 0)},
	}, {
		.name = "close",
		.limit = 100 * SIZE,
		.burst = {{EVEN(2), EVEN(1)}, {EVEN(1), ODD(2)}},
		.reader = {{RQ_CLOSE, 1, 2}},
		.how = {ALL(0), BOUND(1, 0), ALL_SLOW(1), BOUND_SLOW(3, 0), BOUND_SLOW(2, 1)},
	}, {
		.name = "a limit that is lowered",
		.limit = 450,
		.burst = {{EVEN(2), EVEN(2)}},
		.reader = {{RQ_LIMIT, 1, 150}, {RQ_POLL, 2, 2}},
		.how = {ALL(0), ALL(1), ALL_SLOW(2), BOUND_SLOW(3, 1)},
	}, {
		.name = "a limit that is raised",
		.limit = 150,
		.burst = {{EVEN(2), EVEN(2)}},
		.reader = {{RQ_LIMIT, 1, 450}, {RQ_POLL, 2, 2}},
		.how = {ALL(0), ALL(1), ALL_SLOW(2), BOUND_SLOW(3, 1)},
	}, {
		.name = "a limit that changes, two producers",
		.limit = 450,
		.burst = {{EVEN(2), EVEN(2)}, {EVEN(1)}},
		.reader = {{RQ_LIMIT, 1, 150}, {RQ_POLL, 2, 2}},
		.how = {ALL_SLOW(0), BOUND_SLOW(2, 0)},
	}, {
		.name = "readable while another one peeks",
		.limit = 100 * SIZE,
		.burst = {{EVEN(1)}},
		.reader = {{RQ_READABLE, 1, 0}, {RQ_PEEK, 1, 0}},
		.several = true,
		.how = {ALL(0), ALL(2), BOUND(2, 1)},
	},
};
/* clang-format on */
const unsigned int rq_n_progs = RTE_DIM(rq_progs);

struct mc_result
rq_run(const struct rq_prog *p, unsigned int k, double max_seconds, bool show)
{
	struct mc_prog mc = {
		.name = p->name,
		.init = init,
		.step = step,
		.final = final,
		.mem = &mem,
		.mem_size = sizeof(mem),
		.where = where,
		.mode = p->how[k].mode,
		.preemptions = p->how[k].preemptions,
		.stale = p->how[k].stale,
		.spin = p->how[k].spin,
		.max_seconds = max_seconds,
	};

	prog = p;
	weak = mc.stale > 0;
	n_producers = 0;
	while (n_producers < 2 && p->burst[n_producers][0].n != 0)
		mc.thread[n_producers++] = producer;
	mc.n_threads = n_producers;
	for (unsigned int r = 0; r < 2 && p->reader[r].kind != RQ_NONE; r++)
		mc.thread[mc.n_threads++] = reader;
	return mc_run(&mc, show);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * See mc.h. A virtual thread is a stack; it stops before each atomic operation, which the explorer
 * then carries out for it. An execution is a list of choices (nodes): the next one is made by changing
 * the last choice that has an alternative and running the program again from its start.
 */
#include "mc.h"

#include <assert.h>
#include <inttypes.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <ucontext.h>

#define STACK_BYTES (64 * 1024)
#define MESSAGES    8192
#define NOBODY      MC_THREADS
#define NO_LOC      UINT16_MAX

/* ---- what the program does ---- */

enum kind { LOAD, STORE, SWAP, ADD, SUB, AND, OR, XOR, CAS, FENCE, AWAIT };

struct op {
	enum kind kind;
	uint8_t size; /* bytes */
	int order;    /* __ATOMIC_* */
	void *addr;
	uint64_t arg, expected;
	uint16_t loc;
};

/* What a thread knows: how far it has seen each thread, and the oldest value of each object that it may
 * still read.
 */
struct clock {
	uint16_t vc[MC_THREADS];
	uint16_t view[MC_LOCS];
};

/* One value of an atomic object, with what its reader learns. */
struct message {
	uint64_t value;
	uint16_t stamp, before; /* place in the modification order; index of the message before */
	struct clock clock;
};

struct loc {
	void *addr;
	uint8_t size;
	uint16_t last; /* message */
	/* Events in the order of dependence: see struct event. */
	uint16_t write_clk[MC_THREADS], read_clk[MC_THREADS];
	int last_event; /* chain through struct event */
};

struct thread {
	jmp_buf base, at;
	char *stack;
	bool done;
	struct op next;
	uint64_t result;
	struct clock now, release, acquire; /* release, acquire: what fences have collected */
	unsigned int stale_left;
	uint16_t clk[MC_THREADS]; /* events that come before the thread's next one */
	/* The last steps have all been loads of this object, and returned this message. */
	void *spin_addr;
	uint16_t spin_msg;
	unsigned int n_spins;
};

/* A step that was carried out. */
struct event {
	struct op op;
	uint8_t thread;
	uint16_t index; /* among the thread's events, from 1 */
	uint16_t clk
		[MC_THREADS]; /* how many events of each thread come before it, itself included */
	int loc_before;       /* the event before at the same object, -1 */
	uint64_t was, result;
	unsigned int option;
};

/* A choice. */
struct node {
	uint8_t enabled, backtrack, done, sleep; /* sets of threads */
	uint8_t chosen;
	unsigned int option, n_options; /* which value a load returns */
	unsigned int preempted;         /* before this choice */
	uint16_t steps_of[MC_THREADS];  /* made before this choice */
};

static const struct mc_prog *prog;
static struct thread threads[MC_THREADS];
static unsigned int self = NOBODY; /* running thread */
static jmp_buf explorer;
static ucontext_t explorer_ctx, start_ctx;

static struct loc locs[MC_LOCS];
static unsigned int n_locs;
static struct message messages[MESSAGES];
static unsigned int n_messages;
static uint16_t sc_view[MC_LOCS];
static uint16_t sc_clk[MC_THREADS]; /* seq_cst steps depend on each other */
static struct event events[MC_DEPTH];
static struct node nodes[MC_DEPTH];
static unsigned int n_events, n_nodes, n_replay;

static struct mc_result result;
static jmp_buf outside;

const char *
mc_fault_name(enum mc_fault fault)
{
	static const char *const name[] = {
		[MC_OK] = "ok",           [MC_RACE] = "data race", [MC_DEADLOCK] = "deadlock",
		[MC_ASSERT] = "property", [MC_CRASH] = "crash",    [MC_LIMIT] = "too large",
	};

	return name[fault];
}

void
mc_fail(enum mc_fault fault, const char *fmt, ...)
{
	va_list ap;

	result.fault = fault;
	va_start(ap, fmt);
	vsnprintf(result.text, sizeof(result.text), fmt, ap);
	va_end(ap);
	if (self != NOBODY)
		_longjmp(explorer, 2);
	_longjmp(outside, 1);
}

/* ---- plain accesses ---- */

/* Numbers of all threads in one word, 16 bits each, of which the highest stays 0. */
typedef uint64_t lanes;
static_assert(sizeof(lanes) == MC_THREADS * sizeof(uint16_t), "one word");
#define HIGH UINT64_C(0x8000800080008000)

/* Who has touched a byte, and when by the thread's own count. */
struct shadow {
	uint32_t run;
	lanes read, write, aread, awrite; /* a: by atomic operations */
};

static struct shadow *shadow;
static size_t shadow_size;
static uint32_t run_number;

/* Has a thread seen as much of each other thread? */
static bool
ordered(lanes seen, lanes now, unsigned int id)
{
	seen &= ~(UINT64_C(0xffff) << 16 * id);
	return (((now | HIGH) - seen) & HIGH) == HIGH;
}

static const char *
where(const void *p)
{
	static char buf[4][32];
	static unsigned int at;

	if (prog->where != NULL && prog->where(p) != NULL)
		return prog->where(p);
	at = (at + 1) % 4;
	snprintf(buf[at], sizeof(buf[0]), "mem+%td", (const char *)p - (const char *)prog->mem);
	return buf[at];
}

static void
access_memory(const void *p, size_t size, unsigned int id, bool write, bool atomic)
{
	struct thread *t = &threads[id];
	size_t off = (uintptr_t)p - (uintptr_t)prog->mem;
	lanes now, mine;

	if (off >= prog->mem_size)
		return;
	memcpy(&now, t->now.vc, sizeof(now));
	mine = (lanes)t->now.vc[id] << 16 * id;
	for (size_t i = off; i < off + size && i < prog->mem_size; i++) {
		struct shadow *s = &shadow[i];
		lanes *mark = atomic  ? write ? &s->awrite : &s->aread
			      : write ? &s->write
				      : &s->read;
		bool ok;

		if (s->run != run_number)
			*s = (struct shadow){.run = run_number};
		ok = ordered(s->write, now, id) && (!write || ordered(s->read, now, id));
		if (!atomic)
			ok = ok && ordered(s->awrite, now, id) &&
			     (!write || ordered(s->aread, now, id));
		*mark = (*mark & ~(UINT64_C(0xffff) << 16 * id)) | mine;
		if (!ok)
			mc_fail(MC_RACE, "thread %u %s %s%s, not ordered with another thread", id,
				write ? "writes" : "reads", where(p), atomic ? " (atomic)" : "");
	}
}

/* ---- atomic operations ---- */

static uint64_t
peek(const void *p, unsigned int size)
{
	uint64_t v = 0;

	memcpy(&v, p, size); /* little endian, as all that this runs on */
	return v;
}

static uint64_t
clip(uint64_t v, unsigned int size)
{
	return size == 8 ? v : v & ((UINT64_C(1) << size * 8) - 1);
}

static uint16_t
new_message(uint64_t value, uint16_t stamp, uint16_t before)
{
	if (n_messages == MESSAGES)
		mc_fail(MC_LIMIT, "more than %u values", MESSAGES);
	messages[n_messages].value = value;
	messages[n_messages].stamp = stamp;
	messages[n_messages].before = before;
	return (uint16_t)n_messages++;
}

static uint16_t
loc_of(void *addr, uint8_t size)
{
	struct loc *l;

	for (unsigned int i = 0; i < n_locs; i++) {
		if (locs[i].addr == addr) {
			if (locs[i].size != size)
				mc_fail(MC_ASSERT, "%s accessed with two sizes", where(addr));
			return (uint16_t)i;
		}
	}
	if (n_locs == MC_LOCS)
		mc_fail(MC_LIMIT, "more than %u atomic objects", MC_LOCS);
	l = &locs[n_locs];
	memset(l, 0, sizeof(*l));
	l->addr = addr;
	l->size = size;
	l->last_event = -1;
	l->last = new_message(peek(addr, size), 0, 0);
	memset(&messages[l->last].clock, 0, sizeof(struct clock));
	return (uint16_t)n_locs++;
}

static void
join(struct clock *a, const struct clock *b)
{
	for (unsigned int i = 0; i < prog->n_threads; i++)
		if (b->vc[i] > a->vc[i])
			a->vc[i] = b->vc[i];
	for (unsigned int i = 0; i < n_locs; i++)
		if (b->view[i] > a->view[i])
			a->view[i] = b->view[i];
}

static void
join_view(uint16_t *a, const uint16_t *b)
{
	for (unsigned int i = 0; i < n_locs; i++)
		if (b[i] > a[i])
			a[i] = b[i];
}

static bool
acquires(int order)
{
	return order != __ATOMIC_RELAXED && order != __ATOMIC_RELEASE;
}

static bool
releases(int order)
{
	return order == __ATOMIC_RELEASE || order == __ATOMIC_ACQ_REL || order == __ATOMIC_SEQ_CST;
}

static bool
writes(const struct op *op)
{
	return op->kind != LOAD && op->kind != AWAIT && op->kind != FENCE;
}

static uint64_t
modified(const struct op *op, uint64_t old)
{
	switch (op->kind) {
	case SWAP:
		return op->arg;
	case ADD:
		return clip(old + op->arg, op->size);
	case SUB:
		return clip(old - op->arg, op->size);
	case AND:
		return old & op->arg;
	case OR:
		return old | op->arg;
	default:
		return old ^ op->arg;
	}
}

static void
learn(struct thread *t, const struct message *m, uint16_t loc, int order)
{
	if (m->stamp > t->now.view[loc])
		t->now.view[loc] = m->stamp;
	join(acquires(order) ? &t->now : &t->acquire, &m->clock);
}

static void
put(struct thread *t, unsigned int id, uint64_t value, uint16_t loc, int order, bool rmw)
{
	struct loc *l = &locs[loc];
	const struct message *old = &messages[l->last];
	uint16_t stamp = (uint16_t)(old->stamp + 1);
	uint16_t at = new_message(value, stamp, l->last);
	struct message *m = &messages[at];

	old = &messages[l->last];
	t->now.view[loc] = stamp;
	m->clock = releases(order) ? t->now : t->release;
	m->clock.view[loc] = stamp;
	if (rmw) /* a release sequence goes through it */
		join(&m->clock, &old->clock);
	l->last = at;
	memcpy(l->addr, &value, l->size);
	t->now.vc[id]++;
}

/* How many values a load may return. */
static unsigned int
options(const struct thread *t, const struct op *op)
{
	const struct loc *l;
	unsigned int n;

	if (op->kind != LOAD || t->stale_left == 0)
		return 1;
	l = &locs[op->loc];
	n = messages[l->last].stamp - t->now.view[op->loc];
	if (op->order == __ATOMIC_SEQ_CST && sc_view[op->loc] > t->now.view[op->loc])
		n = messages[l->last].stamp - sc_view[op->loc];
	return n + 1;
}

static void
fence(struct thread *t, unsigned int id, int order)
{
	if (order == __ATOMIC_RELAXED)
		return;
	if (acquires(order))
		join(&t->now, &t->acquire);
	if (order == __ATOMIC_SEQ_CST) {
		join_view(t->now.view, sc_view);
		join_view(sc_view, t->now.view);
	}
	if (releases(order)) {
		t->release = t->now;
		t->now.vc[id]++;
	}
}

/* Carry out the next operation of a thread. Returns what it read. */
static uint64_t
execute(unsigned int id, unsigned int option)
{
	struct thread *t = &threads[id];
	const struct op *op = &t->next;
	struct loc *l = op->kind != FENCE ? &locs[op->loc] : NULL;
	uint16_t at;
	uint64_t old;

	if (op->kind == FENCE) {
		fence(t, id, op->order);
		return 0;
	}
	access_memory(op->addr, op->size, id, writes(op), true);
	if (op->order == __ATOMIC_SEQ_CST)
		join_view(t->now.view, sc_view);
	at = l->last;
	for (unsigned int i = 0; i < option; i++)
		at = messages[at].before;
	old = messages[at].value;
	t->stale_left -= option > 0;
	if (op->kind != LOAD || t->spin_addr != op->addr || t->spin_msg != at)
		t->n_spins = 0;
	t->spin_addr = op->kind == LOAD ? op->addr : NULL;
	t->spin_msg = at;
	t->n_spins++;
	switch (op->kind) {
	case LOAD:
	case AWAIT:
		learn(t, &messages[at], op->loc, op->order);
		break;
	case STORE:
		put(t, id, op->arg, op->loc, op->order, false);
		break;
	case CAS:
		if (old != op->expected) {
			learn(t, &messages[at], op->loc, op->order);
			break;
		}
		learn(t, &messages[at], op->loc, op->order);
		put(t, id, op->arg, op->loc, op->order, true);
		break;
	default:
		learn(t, &messages[at], op->loc, op->order);
		put(t, id, modified(op, old), op->loc, op->order, true);
		break;
	}
	if (op->order == __ATOMIC_SEQ_CST)
		join_view(sc_view, t->now.view);
	return old;
}

/* ---- who may run ---- */

/* Would it have to wait if the object had this value? */
static bool
waits_at(const struct op *op, uint64_t value)
{
	return (op->kind == AWAIT && value < op->arg) ||
	       (op->kind == SWAP && prog->spin == 0 && value == op->arg);
}

static bool
may_run(const struct thread *t)
{
	const struct loc *l;

	if (t->done)
		return false;
	if (t->next.kind == FENCE)
		return true;
	l = &locs[t->next.loc];
	if (prog->spin != 0 && t->next.kind == LOAD && t->n_spins >= prog->spin &&
	    t->spin_addr == t->next.addr && t->spin_msg == l->last)
		return false;
	return !waits_at(&t->next, messages[l->last].value);
}

static bool
dependent(const struct op *a, const struct op *b)
{
	if (a->order == __ATOMIC_SEQ_CST && b->order == __ATOMIC_SEQ_CST)
		return true;
	return a->kind != FENCE && b->kind != FENCE && a->loc == b->loc && (writes(a) || writes(b));
}

/* Does event e come before what the clock belongs to? */
static bool
before(const struct event *e, const uint16_t *clk)
{
	return clk[e->thread] >= e->index;
}

/*
 * Which threads could have gone first at event i, so that its order with the next operation of thread p
 * is the other way round: those whose first event after i depends neither on i nor on any that had to
 * come in between.
 */
static uint8_t
initials(unsigned int i, unsigned int p)
{
	const struct op *op = &threads[p].next;
	uint8_t found = 0, had = 0;
	bool first = true;

	for (unsigned int j = i + 1; j < n_events; j++) {
		const struct event *e = &events[j];
		bool free = true;

		if (before(&events[i], e->clk))
			continue;
		if (before(e, threads[p].clk) || dependent(&e->op, op))
			first = false;
		if ((had >> e->thread & 1) != 0)
			continue;
		had |= (uint8_t)(1 << e->thread);
		for (unsigned int k = i + 1; k < j && free; k++)
			free = before(&events[i], events[k].clk) || !before(&events[k], e->clk);
		if (free)
			found |= (uint8_t)(1 << e->thread);
	}
	if (first)
		found |= (uint8_t)(1 << p);
	return found;
}

/*
 * The next operation of thread p is about to be carried out. See that each step with which it could
 * change places, with a difference, is also tried the other way.
 */
static void
look_for_reversals(unsigned int p)
{
	const struct thread *t = &threads[p];
	const struct op *op = &t->next;
	uint16_t seen[MC_THREADS];
	bool all = op->order == __ATOMIC_SEQ_CST;
	int i;

	if (op->kind == FENCE && !all)
		return;
	memcpy(seen, t->clk, sizeof(seen));
	i = all ? (int)n_events - 1 : locs[op->loc].last_event;
	for (; i >= 0; i = all ? i - 1 : events[i].loc_before) {
		const struct event *e = &events[i];
		struct node *n = &nodes[i];
		uint8_t candidates;

		if (e->thread == p || !dependent(&e->op, op) || before(e, seen))
			continue;
		/* Not both at once: it gave what the thread waits for. */
		if (e->op.kind != FENCE && op->kind != FENCE && e->op.loc == op->loc &&
		    waits_at(op, e->was))
			continue;
		for (unsigned int u = 0; u < MC_THREADS; u++)
			if (e->clk[u] > seen[u])
				seen[u] = e->clk[u];
		candidates = initials((unsigned int)i, p) & n->enabled;
		if ((candidates & n->backtrack) != 0)
			continue;
		if (candidates != 0)
			n->backtrack |= (uint8_t)(candidates & -candidates);
		else if (t->clk[p] !=
			 n->steps_of[p]) /* p waited there, and for this step: no choice */
			n->backtrack = n->enabled;
	}
}

/* Note that a thread's next operation is carried out, for the order of dependence. */
static void
note_event(unsigned int id, uint64_t was, uint64_t got, unsigned int option)
{
	struct thread *t = &threads[id];
	struct event *e = &events[n_events];
	const struct op *op = &t->next;

	e->op = *op;
	e->thread = (uint8_t)id;
	e->was = was;
	e->result = got;
	e->option = option;
	e->loc_before = -1;
	for (unsigned int u = 0; u < MC_THREADS; u++) {
		if (op->order == __ATOMIC_SEQ_CST && sc_clk[u] > t->clk[u])
			t->clk[u] = sc_clk[u];
		if (op->kind == FENCE)
			continue;
		if (locs[op->loc].write_clk[u] > t->clk[u])
			t->clk[u] = locs[op->loc].write_clk[u];
		if (writes(op) && locs[op->loc].read_clk[u] > t->clk[u])
			t->clk[u] = locs[op->loc].read_clk[u];
	}
	e->index = ++t->clk[id];
	memcpy(e->clk, t->clk, sizeof(e->clk));
	for (unsigned int u = 0; u < MC_THREADS; u++) {
		if (op->order == __ATOMIC_SEQ_CST)
			sc_clk[u] = t->clk[u];
		if (op->kind == FENCE)
			continue;
		if (writes(op))
			locs[op->loc].write_clk[u] = t->clk[u];
		else if (t->clk[u] > locs[op->loc].read_clk[u])
			locs[op->loc].read_clk[u] = t->clk[u];
	}
	if (op->kind != FENCE) {
		e->loc_before = locs[op->loc].last_event;
		locs[op->loc].last_event = (int)n_events;
	}
	n_events++;
}

/* ---- threads ---- */

/* Let the explorer go on; come back when it says so. */
static void
stop_here(struct thread *t)
{
	if (_setjmp(t->at) == 0) {
		self = NOBODY;
		_longjmp(explorer, 1);
	}
}

static void
thread_main(void)
{
	struct thread *t = &threads[self];

	if (_setjmp(t->base) == 0) {
		self = NOBODY;
		swapcontext(&start_ctx, &explorer_ctx);
	}
	/* Each execution starts here, by a jump to base. */
	prog->thread[self](self);
	threads[self].done = true;
	stop_here(&threads[self]);
	abort();
}

static void
make_thread(unsigned int id)
{
	if (threads[id].stack != NULL)
		return;
	threads[id].stack = malloc(STACK_BYTES);
	if (threads[id].stack == NULL)
		abort();
	getcontext(&start_ctx);
	start_ctx.uc_stack.ss_sp = threads[id].stack;
	start_ctx.uc_stack.ss_size = STACK_BYTES;
	start_ctx.uc_link = NULL;
	makecontext(&start_ctx, thread_main, 0);
	self = id;
	swapcontext(&explorer_ctx, &start_ctx);
}

/* Run a thread up to its next operation: false when the execution failed. */
static bool
resume(unsigned int id, bool start)
{
	int why = _setjmp(explorer);

	if (why == 0) {
		self = id;
		_longjmp(start ? threads[id].base : threads[id].at, 1);
	}
	self = NOBODY;
	return why == 1;
}

static uint64_t
atomic_op(enum kind kind, const volatile void *addr, unsigned int size, int order, uint64_t arg,
	  uint64_t expected)
{
	struct op op = {
		.kind = kind,
		.size = (uint8_t)size,
		.order = order,
		.addr = (void *)(uintptr_t)addr,
		.arg = arg,
		.expected = expected,
		.loc = NO_LOC,
	};
	struct thread *t;
	uint64_t old;

	if (self == NOBODY) { /* before or after: nobody else runs */
		old = kind != FENCE ? peek(op.addr, size) : 0;
		if (kind == STORE || (kind == CAS && old == expected))
			memcpy(op.addr, &arg, size);
		else if (writes(&op) && kind != CAS) {
			uint64_t new = modified(&op, old);

			memcpy(op.addr, &new, size);
		}
		return old;
	}
	if (kind != FENCE)
		op.loc = loc_of(op.addr, op.size);
	t = &threads[self];
	t->next = op;
	stop_here(t);
	return t->result;
}

/* ---- exploration ---- */

static void
begin_execution(void)
{
	run_number++;
	n_locs = n_messages = n_events = 0;
	memset(sc_view, 0, sizeof(sc_view));
	memset(sc_clk, 0, sizeof(sc_clk));
	prog->init();
	for (unsigned int i = 0; i < prog->n_threads; i++) {
		struct thread *t = &threads[i];

		memset(&t->now, 0, sizeof(t->now));
		memset(&t->release, 0, sizeof(t->release));
		memset(&t->acquire, 0, sizeof(t->acquire));
		memset(t->clk, 0, sizeof(t->clk));
		t->now.vc[i] = 1;
		t->done = false;
		t->stale_left = prog->stale;
		t->spin_addr = NULL;
	}
}

static unsigned int
lowest(uint8_t set)
{
	return (unsigned int)__builtin_ctz(set);
}

/* A choice that was not made before: which threads may run, who is asleep, who goes first. */
static bool
choose(struct node *n, uint8_t enabled, unsigned int last)
{
	bool had = last != NOBODY && (enabled >> last & 1) != 0;
	uint8_t candidates;

	*n = (struct node){.enabled = enabled, .n_options = 1};
	if (n_nodes > 0)
		n->preempted = n[-1].preempted + (n_nodes > 1 && n[-1].chosen != n[-2].chosen &&
						  (n[-1].enabled >> n[-2].chosen & 1) != 0);
	if (prog->mode == MC_BOUNDED) {
		n->backtrack = enabled;
		if (had && n->preempted >= prog->preemptions)
			n->backtrack = (uint8_t)(1 << last);
		candidates = n->backtrack;
	} else {
		if (n_nodes > 0) {
			const struct event *e = &events[n_events - 1];

			for (unsigned int q = 0; q < prog->n_threads; q++)
				if ((n[-1].sleep >> q & 1) != 0 && q != e->thread &&
				    !dependent(&threads[q].next, &e->op))
					n->sleep |= (uint8_t)(1 << q);
		}
		candidates = enabled & (uint8_t)~n->sleep;
		if (candidates == 0)
			return false;
	}
	n->chosen = (uint8_t)(had && (candidates >> last & 1) != 0 ? last : lowest(candidates));
	n->backtrack |= (uint8_t)(1 << n->chosen);
	for (unsigned int p = 0; p < prog->n_threads; p++)
		n->steps_of[p] = threads[p].clk[p];
	n_nodes++;
	return true;
}

/* One execution. */
static void
run_once(void)
{
	unsigned int last = NOBODY;

	begin_execution();
	for (unsigned int i = 0; i < prog->n_threads; i++)
		if (!resume(i, true))
			return;
	for (unsigned int depth = 0;; depth++) {
		struct node *n = &nodes[depth];
		uint8_t enabled = 0;
		bool all_done = true;
		uint64_t was;
		struct thread *t;

		for (unsigned int p = 0; p < prog->n_threads; p++) {
			all_done = all_done && threads[p].done;
			if (may_run(&threads[p]))
				enabled |= (uint8_t)(1 << p);
		}
		if (all_done) {
			if (depth > result.depth)
				result.depth = depth;
			result.runs++;
			if (prog->final != NULL)
				prog->final();
			return;
		}
		if (enabled == 0)
			mc_fail(MC_DEADLOCK, "everybody waits");
		if (depth == MC_DEPTH - 1)
			mc_fail(MC_LIMIT, "more than %u steps", MC_DEPTH);
		if (depth >= n_nodes && !choose(n, enabled, last)) {
			result.cut++;
			return;
		}
		if (prog->mode == MC_ALL && depth + 1 >= n_replay)
			look_for_reversals(n->chosen);
		t = &threads[n->chosen];
		was = t->next.kind != FENCE ? messages[locs[t->next.loc].last].value : 0;
		n->n_options = options(t, &t->next);
		t->result = execute(n->chosen, n->option);
		note_event(n->chosen, was, t->result, n->option);
		result.steps++;
		if (prog->step != NULL)
			prog->step();
		last = n->chosen;
		if (!resume(n->chosen, false))
			return;
	}
}

/* Change the last choice that can be changed: false when there is none. */
static bool
next_schedule(void)
{
	while (n_nodes > 0) {
		struct node *n = &nodes[n_nodes - 1];
		uint8_t left;

		if (++n->option < n->n_options) {
			n_replay = n_nodes;
			return true;
		}
		n->done |= (uint8_t)(1 << n->chosen);
		if (prog->mode == MC_ALL)
			n->sleep |= (uint8_t)(1 << n->chosen);
		left = n->backtrack & (uint8_t) ~(n->done | n->sleep);
		if (left != 0) {
			n->chosen = (uint8_t)lowest(left);
			n->option = 0;
			n_replay = n_nodes;
			return true;
		}
		n_nodes--;
	}
	return false;
}

static void
print_trace(void)
{
	static const char *const kind[] = {
		[LOAD] = "load", [STORE] = "store", [SWAP] = "swap",   [ADD] = "add",
		[SUB] = "sub",   [AND] = "and",     [OR] = "or",       [XOR] = "xor",
		[CAS] = "cas",   [FENCE] = "fence", [AWAIT] = "await",
	};
	static const char *const order[] = {"relaxed", "consume", "acquire",
					    "release", "acq_rel", "seq_cst"};

	printf("# %s: %s: %s, after %" PRIu64 " runs. Its steps:\n", prog->name,
	       mc_fault_name(result.fault), result.text, result.runs);
	for (unsigned int i = 0; i < n_events; i++) {
		const struct event *e = &events[i];

		printf("# %4u  %*s%u: %s %s %s", i, 12 * e->thread, "", e->thread, kind[e->op.kind],
		       e->op.kind != FENCE ? where(e->op.addr) : "", order[e->op.order]);
		if (e->op.kind != LOAD && e->op.kind != FENCE)
			printf(" %" PRIu64, e->op.arg);
		if (e->op.kind != STORE && e->op.kind != FENCE)
			printf(" -> %" PRIu64, e->result);
		printf("%s\n", e->option > 0 ? " (an older value)" : "");
	}
	for (unsigned int i = 0; i < prog->n_threads; i++)
		if (!threads[i].done)
			printf("#       %*s%u: before %s %s\n", 12 * (int)i, "", i,
			       kind[threads[i].next.kind],
			       threads[i].next.addr != NULL ? where(threads[i].next.addr) : "");
}

static double
now_seconds(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec * 1e-9;
}

static void
crashed(int sig, siginfo_t *info, void *context)
{
	(void)sig;
	(void)context;
	mc_fail(MC_CRASH, "access to address %p", info->si_addr);
}

/* On a stack of its own: a virtual thread's may be what is broken. */
static void
catch_crashes(struct sigaction before[2], bool on)
{
	static uint8_t stack[64 * 1024];
	const stack_t alt = {.ss_sp = stack, .ss_size = sizeof(stack)};
	const stack_t none = {.ss_flags = SS_DISABLE};
	struct sigaction sa = {.sa_sigaction = crashed,
			       .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER};

	sigaltstack(on ? &alt : &none, NULL);
	if (on) {
		sigaction(SIGSEGV, &sa, &before[0]);
		sigaction(SIGBUS, &sa, &before[1]);
	} else {
		sigaction(SIGSEGV, &before[0], NULL);
		sigaction(SIGBUS, &before[1], NULL);
	}
}

struct mc_result
mc_run(const struct mc_prog *p, bool show)
{
	double start = now_seconds();
	struct sigaction before[2];

	prog = p;
	memset(&result, 0, sizeof(result));
	if (shadow_size < p->mem_size) {
		free(shadow);
		shadow = calloc(p->mem_size, sizeof(*shadow));
		if (shadow == NULL)
			abort();
		shadow_size = p->mem_size;
	}
	for (unsigned int i = 0; i < p->n_threads; i++)
		make_thread(i);
	n_nodes = n_replay = 0;
	catch_crashes(before, true);
	if (_setjmp(outside) == 0) {
		do {
			run_once();
			if (result.fault != MC_OK)
				break;
			if (p->max_runs != 0 && result.runs + result.cut >= p->max_runs)
				break;
			if (p->max_seconds != 0 && (result.runs & 255) == 0 &&
			    now_seconds() - start > p->max_seconds)
				break;
			result.complete = !next_schedule();
		} while (!result.complete);
	}
	catch_crashes(before, false);
	self = NOBODY;
	result.seconds = now_seconds() - start;
	if (result.fault != MC_OK && show)
		print_trace();
	return result;
}

/* ---- the program's own words ---- */

unsigned int
mc_self(void)
{
	return self;
}

uint32_t
mc_load(uint32_t *p)
{
	return (uint32_t)atomic_op(LOAD, p, 4, __ATOMIC_ACQUIRE, 0, 0);
}

void
mc_store(uint32_t *p, uint32_t value)
{
	atomic_op(STORE, p, 4, __ATOMIC_RELEASE, value, 0);
}

uint32_t
mc_add(uint32_t *p, uint32_t value)
{
	return (uint32_t)atomic_op(ADD, p, 4, __ATOMIC_ACQ_REL, value, 0);
}

void
mc_await(uint32_t *p, uint32_t value)
{
	atomic_op(AWAIT, p, 4, __ATOMIC_ACQUIRE, value, 0);
}

/* ---- what the compiler calls ---- */

#define PLAIN(size)                                                                                \
	void __tsan_read##size(void *p);                                                           \
	void __tsan_write##size(void *p);                                                          \
	void __tsan_unaligned_read##size(void *p);                                                 \
	void __tsan_unaligned_write##size(void *p);                                                \
	void __tsan_volatile_read##size(void *p);                                                  \
	void __tsan_volatile_write##size(void *p);                                                 \
	void __tsan_read##size(void *p)                                                            \
	{                                                                                          \
		if (self != NOBODY)                                                                \
			access_memory(p, size, self, false, false);                                \
	}                                                                                          \
	void __tsan_write##size(void *p)                                                           \
	{                                                                                          \
		if (self != NOBODY)                                                                \
			access_memory(p, size, self, true, false);                                 \
	}                                                                                          \
	void __tsan_unaligned_read##size(void *p)                                                  \
	{                                                                                          \
		__tsan_read##size(p);                                                              \
	}                                                                                          \
	void __tsan_unaligned_write##size(void *p)                                                 \
	{                                                                                          \
		__tsan_write##size(p);                                                             \
	}                                                                                          \
	void __tsan_volatile_read##size(void *p)                                                   \
	{                                                                                          \
		__tsan_read##size(p);                                                              \
	}                                                                                          \
	void __tsan_volatile_write##size(void *p)                                                  \
	{                                                                                          \
		__tsan_write##size(p);                                                             \
	}

PLAIN(1)
PLAIN(2)
PLAIN(4)
PLAIN(8)
PLAIN(16)

#define RMW(bits, name, kind)                                                                      \
	uint##bits##_t __tsan_atomic##bits##_##name(volatile uint##bits##_t *p, uint##bits##_t v,  \
						    int order);                                    \
	uint##bits##_t __tsan_atomic##bits##_##name(volatile uint##bits##_t *p, uint##bits##_t v,  \
						    int order)                                     \
	{                                                                                          \
		return (uint##bits##_t)atomic_op(kind, p, bits / 8, order, v, 0);                  \
	}

#define CAS_AS(bits, name)                                                                         \
	int __tsan_atomic##bits##_compare_exchange_##name(volatile uint##bits##_t *p,              \
							  uint##bits##_t *expected,                \
							  uint##bits##_t v, int order, int fail);  \
	int __tsan_atomic##bits##_compare_exchange_##name(volatile uint##bits##_t *p,              \
							  uint##bits##_t *expected,                \
							  uint##bits##_t v, int order, int fail)   \
	{                                                                                          \
		uint##bits##_t old =                                                               \
			(uint##bits##_t)atomic_op(CAS, p, bits / 8, order, v, *expected);          \
		bool same = old == *expected;                                                      \
                                                                                                   \
		(void)fail;                                                                        \
		*expected = old;                                                                   \
		return same;                                                                       \
	}

#define ATOMIC(bits)                                                                               \
	uint##bits##_t __tsan_atomic##bits##_load(const volatile uint##bits##_t *p, int order);    \
	void __tsan_atomic##bits##_store(volatile uint##bits##_t *p, uint##bits##_t v, int order); \
	uint##bits##_t __tsan_atomic##bits##_load(const volatile uint##bits##_t *p, int order)     \
	{                                                                                          \
		return (uint##bits##_t)atomic_op(LOAD, p, bits / 8, order, 0, 0);                  \
	}                                                                                          \
	void __tsan_atomic##bits##_store(volatile uint##bits##_t *p, uint##bits##_t v, int order)  \
	{                                                                                          \
		atomic_op(STORE, p, bits / 8, order, v, 0);                                        \
	}                                                                                          \
	RMW(bits, exchange, SWAP)                                                                  \
	RMW(bits, fetch_add, ADD)                                                                  \
	RMW(bits, fetch_sub, SUB)                                                                  \
	RMW(bits, fetch_and, AND)                                                                  \
	RMW(bits, fetch_or, OR)                                                                    \
	RMW(bits, fetch_xor, XOR)                                                                  \
	CAS_AS(bits, strong)                                                                       \
	CAS_AS(bits, weak)

ATOMIC(8)
ATOMIC(16)
ATOMIC(32)
ATOMIC(64)

void __tsan_init(void);
void __tsan_func_entry(void *pc);
void __tsan_func_exit(void);
void __tsan_atomic_thread_fence(int order);
void __tsan_atomic_signal_fence(int order);
void __tsan_read_range(void *p, uintptr_t size);
void __tsan_write_range(void *p, uintptr_t size);

void
__tsan_init(void)
{
}

void
__tsan_func_entry(void *pc)
{
	(void)pc;
}

void
__tsan_func_exit(void)
{
}

void
__tsan_atomic_thread_fence(int order)
{
	atomic_op(FENCE, NULL, 0, order, 0, 0);
}

void
__tsan_atomic_signal_fence(int order)
{
	(void)order;
}

void
__tsan_read_range(void *p, uintptr_t size)
{
	if (self != NOBODY)
		access_memory(p, size, self, false, false);
}

void
__tsan_write_range(void *p, uintptr_t size)
{
	if (self != NOBODY)
		access_memory(p, size, self, true, false);
}

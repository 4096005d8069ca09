/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What our VF driver does to the registers from probe to close, against what net_liovf of DPDK and
 * the kernel's liquidio_vf do (logs in tests/vm/data, see docs/vm-suite.md). Every difference is a
 * row of data/access-differences.txt with the reason for it: a difference that has no row fails, and
 * so does a row that has no difference any more.
 *
 * Our own log is taken here, from the driver over the model in this process. The logs of the same
 * driver on a PCI device of a virtual machine (data/net_liq-*.log, and the files named in
 * $WEIR_ACCESS_LOGS, separated by colons) must be the same but for how config space is reached.
 *
 * How logs are compared: by ring and by stage of the driver's life; a stage begins when the driver
 * puts the ring into reset. Set-up is compared access by access, in order. Once the ring is in use
 * (a doorbell, or its output enabled) it is a matter of time how often and when counts, doorbells
 * and credits are used: of these only the kinds are compared, as "any time". Addresses and counts
 * are taken as such, read-only bits and what reads gave are left out, an access repeated is one. The
 * mailbox is one sequence of words written over the whole life.
 */
#include "lt.h"

#include <ctype.h>

#include <rte_bus_vdev.h>

#include "liq_sdk.h"
#include "liqm.h"

#define N_DESC    512u
#define N_QUEUES  2u
#define N_PACKETS 320u
#define BURST     32u
#define MAX_TEXT  56
#define MAX_EV    512u
#define MAX_STAGE 8u
#define MAX_DIFF  400u
#define N_TOPICS  (N_QUEUES + 3u)

#define READ_ONLY_IN_CTL (UINT64_C(0xFFFFFFFF00000000) | LIQ_IN_CTL_QUIET)

enum topic { TOPIC_FUNCTION = N_QUEUES, TOPIC_MAILBOX, TOPIC_OTHER };

static const char *const topic_names[N_TOPICS] = {"0", "1", "function", "mailbox", "other"};

struct seq {
	char text[MAX_EV][MAX_TEXT];
	unsigned int n;
	bool traffic; /* the ring is in use: the kinds below */
	char kind[32][MAX_TEXT];
	unsigned int n_kinds;
};

/* One driver's log, taken apart. */
struct life {
	struct seq seq[N_TOPICS][MAX_STAGE];
	unsigned int stage[N_QUEUES]; /* of each ring, now */
	bool in_reset[N_QUEUES];
	uint64_t in_ctl[N_QUEUES]; /* as last read */
	bool begun;                /* some register was used */
	unsigned int n_lines;
};

/* ---- taking logs apart ---- */

static void
add(struct life *life, unsigned int topic, unsigned int stage, const char *text)
{
	struct seq *s = &life->seq[topic][stage];

	if (s->n > 0 && strcmp(s->text[s->n - 1], text) == 0)
		return;
	ut_check(s->n < MAX_EV, "more than %u accesses in a stage", MAX_EV);
	snprintf(s->text[s->n++], MAX_TEXT, "%s", text);
}

static void
add_kind(struct seq *s, const char *text)
{
	unsigned int i = 0;

	while (i < s->n_kinds && strcmp(s->kind[i], text) < 0)
		i++;
	if (i < s->n_kinds && strcmp(s->kind[i], text) == 0)
		return;
	ut_check(s->n_kinds < UT_N(s->kind), "too many kinds of accesses");
	memmove(s->kind[i + 1], s->kind[i], (s->n_kinds - i) * sizeof(s->kind[0]));
	snprintf(s->kind[i], MAX_TEXT, "%s", text);
	s->n_kinds++;
}

/* Put into reset or out of it, the rest as it was read: what it was is a matter of the past. */
static void
say_in_ctl(char *text, size_t size, uint64_t value, uint64_t was)
{
	if (((value ^ was) & ~READ_ONLY_IN_CTL) != LIQ_IN_CTL_RST)
		snprintf(text, size, "0x%" PRIx64, value & ~READ_ONLY_IN_CTL);
	else
		snprintf(text, size, "as read, RST %u", !!(value & LIQ_IN_CTL_RST));
}

/* What a written value means, for the comparison. */
static void
say_value(char *text, size_t size, const char *reg, uint64_t value, unsigned int len)
{
	bool count = strcmp(reg, "IN_DONE") == 0 || strcmp(reg, "CNTS") == 0;

	if (strcmp(reg, "IN_BASE") == 0 || strcmp(reg, "OUT_BASE") == 0)
		snprintf(text, size, "address");
	else if ((strcmp(reg, "IN_DBELL") == 0 || strcmp(reg, "OUT_CRED") == 0) &&
		 (uint32_t)value == UINT32_MAX)
		snprintf(text, size, "clear");
	else if (strcmp(reg, "IN_DBELL") == 0)
		snprintf(text, size, value == 1 ? "1" : "n");
	else if (strcmp(reg, "OUT_CRED") == 0)
		snprintf(text, size, "n");
	else if (count && (len == 4 || value >> 32 == 0))
		snprintf(text, size, "count");
	else if (count)
		snprintf(text, size, "count, 0x%" PRIx64 " above", value >> 32);
	else if (strcmp(reg, "MBOX_INT") == 0) /* bit 1 is pending: a matter of time */
		snprintf(text, size, "0x%" PRIx64, value & ~UINT64_C(2));
	else
		snprintf(text, size, "0x%" PRIx64, value);
}

static bool
is_traffic(const char *reg)
{
	static const char *const regs[] = {"IN_DBELL", "IN_DONE", "CNTS", "OUT_CRED"};

	for (size_t i = 0; i < UT_N(regs); i++)
		if (strcmp(reg, regs[i]) == 0)
			return true;
	return false;
}

static void
ring_access(struct life *life, unsigned int q, const char *reg, bool is_write, unsigned int len,
	    uint64_t value)
{
	char text[MAX_TEXT], what[40] = "";
	struct seq *s;

	if (is_write && strcmp(reg, "IN_CTL") == 0)
		say_in_ctl(what, sizeof(what), value, life->in_ctl[q]);
	else if (is_write)
		say_value(what, sizeof(what), reg, value, len);
	else if (strcmp(reg, "IN_CTL") == 0)
		life->in_ctl[q] = value;
	snprintf(text, sizeof(text), "%c %s /%u%s%s", is_write ? 'W' : 'R', reg, len,
		 is_write ? " = " : "", what);
	if (strncmp(reg, "SIG", 3) == 0 && is_write) {
		add(life, TOPIC_MAILBOX, 0, text);
		return;
	}
	if (strncmp(reg, "SIG", 3) == 0 || strcmp(reg, "MBOX_INT") == 0) {
		add_kind(&life->seq[TOPIC_MAILBOX][0], text);
		return;
	}
	if (is_write && strcmp(reg, "IN_CTL") == 0) {
		bool rst = value & LIQ_IN_CTL_RST;

		if (rst && !life->in_reset[q]) {
			const struct seq *old = &life->seq[q][life->stage[q]];
			unsigned int last = old->n;

			/* the read that the write is made of belongs to it */
			ut_check(++life->stage[q] < MAX_STAGE, "ring %u: too many resets", q);
			if (last > 0 && strcmp(old->text[last - 1], "R IN_CTL /8") == 0) {
				life->seq[q][life->stage[q] - 1].n--;
				add(life, q, life->stage[q], "R IN_CTL /8");
			}
		}
		life->in_reset[q] = rst;
	}
	s = &life->seq[q][life->stage[q]];
	if (is_write && strcmp(reg, "IN_DBELL") == 0 && (uint32_t)value != UINT32_MAX)
		s->traffic = true;
	if (s->traffic && is_traffic(reg))
		add_kind(s, text);
	else
		add(life, q, life->stage[q], text);
	if (is_write && strcmp(reg, "OUT_CTL") == 0 && (value & LIQ_OUT_CTL_ENB))
		s->traffic = true;
}

/* "18.352853 fn0 BAR0 R ring0.IN_CTL /8 = 0x2000100000000", time and function left out or not. */
static void
take_line(struct life *life, const char *line)
{
	char space[8], name[40], rw, *dot, *end;
	unsigned int len, q;
	uint64_t value;

	if (strncmp(line, "fn0 ", 4) != 0) {
		line = strstr(line, " fn0 ");
		if (!line)
			return;
		line++;
	}
	life->n_lines++;
	if (strncmp(line, "fn0 RESET FLR", 13) == 0) {
		if (!life->begun)
			add(life, TOPIC_FUNCTION, 0, "function-level reset");
		return;
	}
	if (sscanf(line, "fn0 %7s %c %39s /%u = %" SCNx64, space, &rw, name, &len, &value) != 5)
		return;
	if (strcmp(space, "CFG") == 0) {
		if (!life->begun && rw == 'W' && strcmp(name, "0x078") == 0 && (value & 0x8000))
			add(life, TOPIC_FUNCTION, 0, "function-level reset");
		return;
	}
	life->begun = true;
	dot = strchr(name, '.');
	q = strncmp(name, "ring", 4) == 0 ? (unsigned int)strtoul(name + 4, &end, 10) : N_QUEUES;
	if (!dot || q >= N_QUEUES || end != dot) {
		char text[MAX_TEXT];

		snprintf(text, sizeof(text), "%c %s", rw, name);
		add(life, TOPIC_OTHER, 0, text);
		return;
	}
	/* a name without "+0", as in "IN_DBELL+4" for an upper half */
	ring_access(life, q, dot + 1, rw == 'W', len, value);
}

/* What a stage has in the end: its sequence, then the kinds. */
static void
finish(struct life *life)
{
	for (unsigned int t = 0; t < N_TOPICS; t++)
		for (unsigned int st = 0; st < MAX_STAGE; st++) {
			struct seq *s = &life->seq[t][st];

			for (unsigned int i = 0; i < s->n_kinds; i++) {
				char text[MAX_TEXT];

				snprintf(text, sizeof(text), "any time: %.44s", s->kind[i]);
				add(life, t, st, text);
			}
		}
}

static struct life *
read_log(const char *path)
{
	struct life *life = calloc(1, sizeof(*life));
	FILE *f = fopen(path, "r");
	char line[256];

	ut_check(life && f, "cannot read %s", path);
	while (fgets(line, sizeof(line), f))
		take_line(life, line);
	fclose(f);
	finish(life);
	ut_check(life->n_lines > 100, "%s: %u accesses only", path, life->n_lines);
	return life;
}

/* ---- our own log ---- */

static struct life *own;

static void
observe(void *ctx, const struct liqm_access *access)
{
	char text[160];

	liqm_access_format(access, text, sizeof(text));
	take_line(ctx, text);
}

/* As net_liq_sim's probe, with the observer in place before the first access. */
static int
traced_probe(struct rte_vdev_device *vdev)
{
	struct liq_sim_cfg cfg = {
		.dev_name = rte_vdev_device_name(vdev),
		.queues = N_QUEUES,
		.drive = LIQ_SIM_INLINE,
		.wire = LIQ_SIM_LOOP,
	};
	struct rte_eth_dev *eth_dev = rte_eth_vdev_allocate(vdev, sizeof(struct liq_dev));
	struct liq_dev *dev;
	int ret;

	if (!eth_dev)
		return -ENOMEM;
	dev = eth_dev->data->dev_private;
	ret = liq_sim_open(&cfg, &dev->io);
	if (ret == 0) {
		liqm_fn_observe(liq_sim_fn(&dev->io), observe, own);
		dev->fn = &liq_vf_ops;
		dev->bus = cfg.dev_name;
		ret = liq_ethdev_init(eth_dev);
		if (ret < 0)
			dev->io.ops->close(dev->io.ctx);
	}
	if (ret < 0)
		rte_eth_dev_release_port(eth_dev);
	else
		rte_eth_dev_probing_finish(eth_dev);
	return ret;
}

static int
traced_remove(struct rte_vdev_device *vdev)
{
	struct rte_eth_dev *eth_dev = rte_eth_dev_allocated(rte_vdev_device_name(vdev));

	return eth_dev ? rte_eth_dev_close(eth_dev->data->port_id) : 0;
}

static struct rte_vdev_driver traced = {.probe = traced_probe, .remove = traced_remove};
RTE_PMD_REGISTER_VDEV(net_liq_traced, traced);

static void
start(uint16_t port, struct rte_mempool *pool)
{
	struct rte_eth_conf conf = {
		.rxmode = {.mq_mode = RTE_ETH_MQ_RX_RSS, .offloads = RTE_ETH_RX_OFFLOAD_CHECKSUM},
		.txmode = {.offloads = RTE_ETH_TX_OFFLOAD_MULTI_SEGS},
		.rx_adv_conf = {.rss_conf = {.rss_hf = RTE_ETH_RSS_IPV4}},
	};

	assert_int_equal(rte_eth_dev_configure(port, N_QUEUES, N_QUEUES, &conf), 0);
	for (uint16_t q = 0; q < N_QUEUES; q++) {
		assert_int_equal(rte_eth_rx_queue_setup(port, q, N_DESC,
							(unsigned int)SOCKET_ID_ANY, NULL, pool),
				 0);
		assert_int_equal(rte_eth_tx_queue_setup(port, q, N_DESC,
							(unsigned int)SOCKET_ID_ANY, NULL),
				 0);
	}
	assert_int_equal(rte_eth_dev_start(port), 0);
}

/* IPv4 to ourselves, addresses by number so that RSS spreads them. */
static struct rte_mbuf *
frame(const struct rte_eth_dev *eth, struct rte_mempool *pool, uint32_t number)
{
	static const uint8_t ip[20] = {0x45, 0, 0, 46, 0, 0, 0, 0, 64, 59, 0, 0, 10, 0, 0, 1, 10};
	struct rte_mbuf *m = rte_pktmbuf_alloc(pool);
	uint8_t bytes[60] = {0};

	assert_non_null(m);
	memcpy(bytes, eth->data->mac_addrs, 6);
	memcpy(bytes + 6, eth->data->mac_addrs, 6);
	bytes[12] = 8;
	memcpy(bytes + 14, ip, sizeof(ip));
	memcpy(bytes + 14 + 16, &number, 4);
	m->data_len = sizeof(bytes);
	m->pkt_len = sizeof(bytes);
	memcpy(rte_pktmbuf_mtod(m, uint8_t *), bytes, sizeof(bytes));
	return m;
}

static void
exchange(const struct rte_eth_dev *eth, struct rte_mempool *pool)
{
	uint16_t port = eth->data->port_id;
	uint32_t n_sent = 0, n_back = 0;

	for (int idle = 0; n_back < N_PACKETS && idle < 1000; idle++) {
		struct rte_mbuf *m[BURST];

		for (uint32_t i = 0; n_sent < N_PACKETS && i < BURST; i++)
			m[i] = frame(eth, pool, n_sent * 2654435761u + i);
		if (n_sent < N_PACKETS) {
			assert_int_equal(
				rte_eth_tx_burst(port, n_sent / BURST % N_QUEUES, m, BURST), BURST);
			n_sent += BURST;
		}
		for (uint16_t q = 0; q < N_QUEUES; q++) {
			uint16_t n = rte_eth_rx_burst(port, q, m, BURST);

			n_back += n;
			for (uint16_t i = 0; i < n; i++)
				rte_pktmbuf_free(m[i]);
		}
	}
	assert_int_equal(n_back, N_PACKETS);
}

static int
take_own_log(void **state)
{
	struct rte_mempool *pool;
	struct rte_eth_dev *eth;
	uint16_t port;

	if (lt_setup(state) != 0)
		return -1;
	own = calloc(1, sizeof(*own));
	pool = ut_pool_create("access", 4095, 0);
	if (!own || rte_vdev_init("net_liq_traced0", "") != 0)
		return -1;
	assert_int_equal(rte_eth_dev_get_port_by_name("net_liq_traced0", &port), 0);
	eth = &rte_eth_devices[port];
	start(port, pool);
	exchange(eth, pool);
	liq_ethdev_tend(eth);
	assert_int_equal(rte_eth_dev_stop(port), 0);
	assert_int_equal(rte_eth_dev_close(port), 0);
	rte_vdev_uninit("net_liq_traced0");
	ut_pool_destroy(pool);
	finish(own);
	return 0;
}

static int
drop_own_log(void **state)
{
	free(own);
	return lt_teardown(state);
}

/* ---- differences ---- */

struct diff {
	char driver[24], stage[16], ring[12], who[8], text[MAX_TEXT];
	bool used;
};

struct diffs {
	struct diff d[MAX_DIFF];
	unsigned int n;
};

/* A driver to compare with: its log, and its stages by the names of ours (NULL: has none such). */
struct other {
	const char *driver, *kernel, *file;
	int stage[MAX_STAGE]; /* index of its stage for each of ours, -1: none */
};

static const char *const stage_names[] = {"probe", "idle", "run", "stopped", "close"};
#define N_STAGES UT_N(stage_names)

static const struct other others[] = {
	{"net_liovf", "6.1", "dpdk-22.11-liovf-6.1.log", {0, 1, 2, -1, 3}},
	{"net_liovf", "6.12", "dpdk-22.11-liovf-6.12.log", {0, 1, 2, -1, 3}},
	{"liquidio_vf", "6.1", "linux-6.1-vf.log", {0, -1, 1, -1, 2}},
	{"liquidio_vf", "6.12", "linux-6.12-vf.log", {0, -1, 1, -1, 2}},
};

static void
differ(struct diffs *all, const struct other *o, const char *stage, unsigned int topic,
       const char *who, const char *text)
{
	struct diff *d;

	ut_check(all->n < MAX_DIFF, "more than %u differences", MAX_DIFF);
	d = &all->d[all->n++];
	*d = (struct diff){.used = false};
	snprintf(d->driver, sizeof(d->driver), "%s", o->driver);
	snprintf(d->stage, sizeof(d->stage), "%s", stage);
	snprintf(d->ring, sizeof(d->ring), "%s", topic_names[topic]);
	snprintf(d->who, sizeof(d->who), "%s", who);
	snprintf(d->text, sizeof(d->text), "%s", text);
}

/* The longest common subsequence of the two; what is not in it are the differences, in order. */
static void
compare(struct diffs *all, const struct other *o, const char *stage, unsigned int topic,
	const struct seq *ours, const struct seq *theirs)
{
	static uint16_t best[MAX_EV + 1][MAX_EV + 1];
	unsigned int i, j;

	for (i = 0; i <= ours->n; i++)
		best[i][theirs->n] = 0;
	for (j = 0; j <= theirs->n; j++)
		best[ours->n][j] = 0;
	for (i = ours->n; i-- > 0;)
		for (j = theirs->n; j-- > 0;)
			if (strcmp(ours->text[i], theirs->text[j]) == 0)
				best[i][j] = (uint16_t)(best[i + 1][j + 1] + 1);
			else
				best[i][j] = RTE_MAX(best[i + 1][j], best[i][j + 1]);
	for (i = j = 0; i < ours->n || j < theirs->n;) {
		if (i < ours->n && j < theirs->n && strcmp(ours->text[i], theirs->text[j]) == 0) {
			i++;
			j++;
		} else if (j == theirs->n || (i < ours->n && best[i + 1][j] >= best[i][j + 1])) {
			differ(all, o, stage, topic, "ours", ours->text[i++]);
		} else {
			differ(all, o, stage, topic, "theirs", theirs->text[j++]);
		}
	}
}

static void
compare_lives(struct diffs *all, const struct other *o, const struct life *theirs)
{
	for (unsigned int st = 0; st < N_STAGES; st++)
		for (unsigned int q = 0; q < N_QUEUES; q++) {
			const struct seq *ours = &own->seq[q][st];

			if (o->stage[st] >= 0)
				compare(all, o, stage_names[st], q, ours,
					&theirs->seq[q][o->stage[st]]);
			else if (ours->n != 0)
				differ(all, o, stage_names[st], q, "ours", "the whole stage");
		}
	for (unsigned int t = TOPIC_FUNCTION; t < N_TOPICS; t++)
		compare(all, o, "life", t, &own->seq[t][0], &theirs->seq[t][0]);
}

/* The same on every ring: one line. */
static void
merge_rings(struct diffs *all)
{
	for (unsigned int i = 0; i < all->n; i++) {
		struct diff *a = &all->d[i];

		for (unsigned int k = 0; a->ring[0] == '0' && k < all->n; k++) {
			struct diff *b = &all->d[k];

			if (b->ring[0] != '1' || strcmp(a->stage, b->stage) != 0 ||
			    strcmp(a->who, b->who) != 0 || strcmp(a->text, b->text) != 0)
				continue;
			snprintf(a->ring, sizeof(a->ring), "0 1");
			memmove(b, b + 1, (all->n - k - 1) * sizeof(*b));
			all->n--;
			break;
		}
	}
}

/* ---- the table ---- */

static char *
trim(char *s)
{
	char *end;

	while (isspace((unsigned char)*s))
		s++;
	for (end = s + strlen(s); end > s && isspace((unsigned char)end[-1]);)
		*--end = '\0';
	return s;
}

/* "driver | stage | ring | who | access | why"; driver may name the kernel of one log, too. */
static void
read_table(struct diffs *table)
{
	char line[512], *field[6];
	FILE *f = fopen(ACCESS_DIR "/access-differences.txt", "r");
	unsigned int n_line = 0;

	ut_check(f != NULL, "cannot read access-differences.txt");
	while (fgets(line, sizeof(line), f)) {
		struct diff *d = &table->d[table->n];
		char *at = line;

		n_line++;
		if (*trim(line) == '\0' || *trim(line) == '#')
			continue;
		for (unsigned int i = 0; i < 6; i++) {
			char *bar = i < 5 ? strchr(at, '|') : NULL;

			ut_check(bar || i == 5, "line %u: %u fields of 6", n_line, i + 1);
			if (bar)
				*bar = '\0';
			field[i] = trim(at);
			at = bar ? bar + 1 : at;
		}
		ut_check(strlen(field[5]) > 8, "line %u: no reason", n_line);
		ut_check(table->n++ < MAX_DIFF, "line %u: too many", n_line);
		*d = (struct diff){.used = false};
		snprintf(d->driver, sizeof(d->driver), "%s", field[0]);
		snprintf(d->stage, sizeof(d->stage), "%s", field[1]);
		snprintf(d->ring, sizeof(d->ring), "%s", field[2]);
		snprintf(d->who, sizeof(d->who), "%s", field[3]);
		snprintf(d->text, sizeof(d->text), "%s", field[4]);
	}
	fclose(f);
}

static bool
row_is_for(const struct diff *row, const struct other *o)
{
	size_t len = strlen(o->driver);

	return strcmp(row->driver, o->driver) == 0 ||
	       (strncmp(row->driver, o->driver, len) == 0 && row->driver[len] == ' ' &&
		strcmp(row->driver + len + 1, o->kernel) == 0);
}

static bool
same(const struct diff *a, const struct diff *b)
{
	return strcmp(a->stage, b->stage) == 0 && strcmp(a->ring, b->ring) == 0 &&
	       strcmp(a->who, b->who) == 0 && strcmp(a->text, b->text) == 0;
}

/* Number of rows and differences that have no partner; each is printed. */
static unsigned int
match(struct diffs *found, struct diffs *table, const struct other *o)
{
	unsigned int n_wrong = 0;

	for (unsigned int r = 0; r < table->n; r++)
		table->d[r].used = false;
	for (unsigned int i = 0; i < found->n; i++) {
		const struct diff *d = &found->d[i];
		unsigned int r = 0;

		while (r < table->n &&
		       (table->d[r].used || !row_is_for(&table->d[r], o) || !same(&table->d[r], d)))
			r++;
		if (r < table->n) {
			table->d[r].used = true;
			continue;
		}
		print_error("no row (kernel %s): %s | %s | %s | %s | %s | \n", o->kernel, d->driver,
			    d->stage, d->ring, d->who, d->text);
		n_wrong++;
	}
	for (unsigned int r = 0; r < table->n; r++) {
		const struct diff *d = &table->d[r];

		if (d->used || !row_is_for(d, o))
			continue;
		print_error("no such difference (kernel %s): %s | %s | %s | %s | %s\n", o->kernel,
			    d->driver, d->stage, d->ring, d->who, d->text);
		n_wrong++;
	}
	return n_wrong;
}

static void
against(const char *driver)
{
	struct diffs *table = calloc(1, sizeof(*table));
	unsigned int n_wrong = 0, n_seen = 0;

	assert_non_null(table);
	read_table(table);
	for (size_t i = 0; i < UT_N(others); i++) {
		const struct other *o = &others[i];
		struct diffs *found = calloc(1, sizeof(*found));
		char path[512];
		struct life *theirs;

		assert_non_null(found);
		if (strcmp(o->driver, driver) == 0) {
			snprintf(path, sizeof(path), "%s/%s", ACCESS_DIR, o->file);
			theirs = read_log(path);
			compare_lives(found, o, theirs);
			merge_rings(found);
			n_wrong += match(found, table, o);
			n_seen += found->n;
			free(theirs);
		}
		free(found);
	}
	for (unsigned int r = 0; r < table->n; r++) {
		bool known = false;

		for (size_t i = 0; i < UT_N(others); i++)
			known |= row_is_for(&table->d[r], &others[i]);
		ut_check(known, "row of an unknown driver: %s", table->d[r].driver);
	}
	free(table);
	ut_check(n_wrong == 0, "%u differences between table and logs", n_wrong);
	ut_check(n_seen > 0, "no difference at all: was anything compared?");
}

static void
every_difference_from_net_liovf_has_a_reason(void **state)
{
	(void)state;
	against("net_liovf");
}

static void
every_difference_from_the_kernel_driver_has_a_reason(void **state)
{
	(void)state;
	against("liquidio_vf");
}

/* ---- the same driver on PCI ---- */

static unsigned int
same_as_own(const char *path)
{
	static const struct other pci = {"net_liq", "pci", "", {0, 1, 2, 3, 4}};
	struct diffs *found = calloc(1, sizeof(*found));
	struct life *log = read_log(path);
	unsigned int n;

	assert_non_null(found);
	compare_lives(found, &pci, log);
	for (unsigned int i = 0; i < found->n; i++)
		print_error("%s: %s, ring %s, %s only: %s\n", path, found->d[i].stage,
			    found->d[i].ring,
			    strcmp(found->d[i].who, "ours") == 0 ? "here" : "there",
			    found->d[i].text);
	n = found->n;
	free(found);
	free(log);
	return n;
}

static void
the_driver_does_the_same_on_pci(void **state)
{
	static const char *const files[] = {"net_liq-6.1.log", "net_liq-6.12.log"};
	const char *more = getenv("WEIR_ACCESS_LOGS");
	char path[1024], *list, *save = NULL;
	unsigned int n_wrong = 0;

	(void)state;
	for (size_t i = 0; i < UT_N(files); i++) {
		snprintf(path, sizeof(path), "%s/%s", ACCESS_DIR, files[i]);
		n_wrong += same_as_own(path);
	}
	list = strdup(more ? more : "");
	assert_non_null(list);
	for (const char *p = strtok_r(list, ":", &save); p; p = strtok_r(NULL, ":", &save))
		n_wrong += same_as_own(p);
	free(list);
	ut_check(n_wrong == 0, "%u differences between the model in this process and PCI", n_wrong);
}

int
main(void)
{
	static const struct CMUnitTest cases[] = {
		cmocka_unit_test(every_difference_from_net_liovf_has_a_reason),
		cmocka_unit_test(every_difference_from_the_kernel_driver_has_a_reason),
		cmocka_unit_test(the_driver_does_the_same_on_pci),
	};

	return UT_RUN(cases, take_own_log, drop_own_log);
}

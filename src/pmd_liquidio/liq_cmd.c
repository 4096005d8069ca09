/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Requests to firmware.  See liq_cmd.h.
 */
#include "liq_cmd.h"

#include <errno.h>
#include <string.h>

#include <rte_atomic.h>

#include "liq_log.h"

#define DATA_BYTES 512u
#define RESP_BYTES 1536u
#define SLOT_BYTES (DATA_BYTES + RESP_BYTES)

static_assert(8 * (1 + LIQ_CMD_MAX_WORDS) <= DATA_BYTES, "data of a command");
static_assert(sizeof(struct liq_if_resp) <= RESP_BYTES, "longest response");

static uint8_t *
data_of(const struct liq_cmds *cmds, unsigned int i)
{
	return cmds->mem.addr + (size_t)i * SLOT_BYTES;
}

static uint8_t *
resp_of(const struct liq_cmds *cmds, unsigned int i)
{
	return data_of(cmds, i) + DATA_BYTES;
}

static volatile uint64_t *
status_of(const struct liq_cmds *cmds, unsigned int i)
{
	return (volatile uint64_t *)(resp_of(cmds, i) + cmds->slot[i].resp_len -
				     LIQ_RESP_STATUS_LEN);
}

/*
 * Arrived: neither the first byte in memory nor the low byte of the value is 0xFF, as the host
 * put there.
 */
static bool
arrived(uint64_t raw)
{
	uint64_t value = liq_be64(raw);

	return (value & 0xFF) != 0xFF && value >> 56 != 0xFF;
}

/* Both conditions; the response may be written before the instruction counts as fetched. */
static bool
over(struct liq_cmds *cmds, unsigned int i)
{
	if (!cmds->iq)
		return true;
	if (!liq_iq_fetched(cmds->iq, cmds->slot[i].seq) || !arrived(*status_of(cmds, i)))
		return false;
	rte_io_rmb(); /* the payload was written before the status */
	return true;
}

/* Frees slots whose answers have come late. */
static void
collect_late(struct liq_cmds *cmds)
{
	for (unsigned int i = 0; i < LIQ_CMD_SLOTS; i++) {
		if (cmds->slot[i].busy && over(cmds, i)) {
			cmds->slot[i].busy = false;
			cmds->n.n_late++;
		}
	}
}

static int
take_slot(struct liq_cmds *cmds)
{
	for (int round = 0; round < 2; round++) {
		for (unsigned int i = 0; i < LIQ_CMD_SLOTS; i++) {
			if (!cmds->slot[i].busy)
				return (int)i;
		}
		collect_late(cmds);
	}
	return -EBUSY;
}

static void
build(const struct liq_cmds *cmds, const struct liq_cmd *cmd, unsigned int i,
      struct liq_instr *instr)
{
	uint64_t iova = cmds->mem.iova + (uint64_t)i * SLOT_BYTES;

	memset(instr, 0, sizeof(*instr));
	instr->dptr = cmd->len != 0 ? iova : 0;
	instr->ih3 = liq_put(LIQ_IH3_PKIND, cmds->pkind) | liq_put(LIQ_IH3_FSZ, LIQ_FSZ_RESP) |
		     liq_put(LIQ_IH3_DLENGSZ, cmd->len);
	/* not parsed, 8 bytes skipped, in order among themselves */
	instr->pki_ih3 = liq_put(LIQ_PKI_TAG, LIQ_TAG_CONTROL) | liq_put(LIQ_PKI_QPG, cmds->qpg) |
			 liq_put(LIQ_PKI_TAGTYPE, LIQ_TAG_ATOMIC) | LIQ_PKI_UTT |
			 liq_put(LIQ_PKI_SL, 8) | liq_put(LIQ_PKI_PM, 7) |
			 (cmds->use_qpg ? LIQ_PKI_UQPG : 0) | LIQ_PKI_UTAG | LIQ_PKI_RAW |
			 LIQ_PKI_W;
	instr->irh = liq_put(LIQ_IRH_OPCODE, LIQ_OPCODE_NIC) |
		     liq_put(LIQ_IRH_SUBCODE, cmd->subcode) | LIQ_IRH_RFLAG;
	instr->ossp[0] = cmd->ossp0;
	instr->rdp = liq_put(LIQ_RDP_RLEN, cmds->slot[i].resp_len);
	instr->rptr = iova + DATA_BYTES;
}

int
liq_cmd_post(struct liq_cmds *cmds, const struct liq_cmd *cmd)
{
	struct liq_cmd_slot *slot;
	struct liq_instr instr;
	int i, ret;

	if (!cmds->iq)
		return -ENODEV;
	if (cmd->len > DATA_BYTES || cmd->resp_len > RESP_BYTES)
		return -EINVAL;
	i = take_slot(cmds);
	if (i < 0)
		return i;
	slot = &cmds->slot[i];
	slot->resp_len = cmd->resp_len ? cmd->resp_len : LIQ_RESP_MIN;
	if (cmd->len != 0)
		memcpy(data_of(cmds, (unsigned int)i), cmd->data, cmd->len);
	memset(resp_of(cmds, (unsigned int)i), 0, slot->resp_len);
	*status_of(cmds, (unsigned int)i) = LIQ_RESP_PENDING;
	build(cmds, cmd, (unsigned int)i, &instr);
	ret = liq_iq_post(cmds->iq, &instr, &slot->seq);
	if (ret < 0)
		return ret;
	slot->busy = true;
	cmds->n.n_requests++;
	return i;
}

static int
verdict(struct liq_cmds *cmds, unsigned int i)
{
	uint64_t code = liq_get(liq_be64(*status_of(cmds, i)), LIQ_STATUS_CODE);

	if (code == LIQ_STATUS_OK)
		return 0;
	cmds->n.n_refused++;
	return code == LIQ_STATUS_NOPERM ? -EPERM : -EIO;
}

int
liq_cmd_poll(struct liq_cmds *cmds, int slot, void *resp)
{
	unsigned int i = (unsigned int)slot;

	if (!cmds->slot[i].busy)
		return -ENODEV; /* the device was reset meanwhile */
	if (!over(cmds, i))
		return -EAGAIN;
	cmds->slot[i].busy = false;
	if (resp)
		memcpy(resp, resp_of(cmds, i), cmds->slot[i].resp_len);
	return verdict(cmds, i);
}

void
liq_cmd_abandon(struct liq_cmds *cmds, int slot)
{
	(void)slot; /* stays busy until its answer comes or the ring is reset */
	cmds->n.n_timeouts++;
	cmds->dead = true;
}

int
liq_cmd_ask(struct liq_cmds *cmds, const struct liq_cmd *cmd, void *resp)
{
	struct liq_wait w = liq_wait_for(&cmds->io, cmd->wait_ns ? cmd->wait_ns : LIQ_CMD_WAIT_NS);
	int slot, ret;

	if (cmds->dead)
		return -EIO;
	while (slot = liq_cmd_post(cmds, cmd), slot == -EBUSY)
		if (!liq_wait(&w))
			return -EBUSY; /* the ring is full of frames that do not leave */
	if (slot < 0)
		return slot;
	while (ret = liq_cmd_poll(cmds, slot, resp), ret == -EAGAIN) {
		if (cmds->iq->broken || !liq_wait(&w)) {
			LIQ_LOG(ERR, "request 0x%02x: no answer%s; reset the port", cmd->subcode,
				cmds->iq->broken ? ", the completion count is impossible" : "");
			liq_cmd_abandon(cmds, slot);
			return -ETIMEDOUT;
		}
	}
	return ret;
}

int
liq_cmd_ctl(struct liq_cmds *cmds, unsigned int cmd, unsigned int param1, unsigned int param2,
	    const void *words, unsigned int n_words)
{
	uint8_t data[8 * (1 + LIQ_CMD_MAX_WORDS)];
	struct liq_cmd request = {
		.subcode = LIQ_FW_CMD,
		.data = data,
		.len = 8 + 8 * n_words,
	};

	if (n_words > LIQ_CMD_MAX_WORDS)
		return -EINVAL;
	liq_be64_store(data, liq_put(LIQ_CMD_CMD, cmd) | liq_put(LIQ_CMD_MORE, n_words) |
				     liq_put(LIQ_CMD_PARAM1, param1) |
				     liq_put(LIQ_CMD_PARAM2, param2));
	if (n_words != 0)
		memcpy(data + 8, words, 8 * (size_t)n_words);
	return liq_cmd_ask(cmds, &request, NULL);
}

void
liq_cmds_use(struct liq_cmds *cmds, struct liq_iq *iq)
{
	cmds->iq = iq;
	for (unsigned int i = 0; i < LIQ_CMD_SLOTS; i++)
		cmds->slot[i].busy = false;
}

void
liq_cmds_revive(struct liq_cmds *cmds)
{
	cmds->dead = false;
}

int
liq_cmds_init(struct liq_cmds *cmds, const struct liq_io *io, uint16_t port_id, int socket_id)
{
	memset(cmds, 0, sizeof(*cmds));
	cmds->io = *io;
	return liq_mem_take(&cmds->mem, port_id, "cmd", 0, (size_t)LIQ_CMD_SLOTS * SLOT_BYTES,
			    socket_id);
}

void
liq_cmds_fini(struct liq_cmds *cmds)
{
	liq_cmds_use(cmds, NULL);
	liq_mem_give(&cmds->mem);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * LiquidIO II device model: port statistics.
 *
 * Counters are kept in the order of firmware 1.7.  Older drivers expect fewer: which layout a
 * driver means is told by the length of the response it asks for.  Another length is refused.
 */
#include "liqm_priv.h"

struct column {
	bool in_1_5, in_1_6;
};

#define COLUMN(name, in15, in16) {in15, in16},
static const struct column rx_columns[LIQ_SRX_N] = {LIQ_STATS_RX_TABLE(COLUMN)};
static const struct column tx_columns[LIQ_STX_N] = {LIQ_STATS_TX_TABLE(COLUMN)};

static uint32_t
put_block(uint8_t *resp, uint32_t at, uint32_t rlen, const struct column *columns,
	  const uint64_t *values, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++) {
		if ((rlen == LIQ_STATS_RLEN_1_5 && !columns[i].in_1_5) ||
		    (rlen == LIQ_STATS_RLEN_1_6 && !columns[i].in_1_6))
			continue;
		liq_be64_store(resp + at, values[i]);
		at += 8;
	}
	return at;
}

uint32_t
liqm_stats_port(const struct liqm_fn *fn, uint8_t *resp, uint32_t rlen)
{
	uint32_t at;

	if (rlen != LIQ_STATS_RLEN_1_5 && rlen != LIQ_STATS_RLEN_1_6 && rlen != LIQ_STATS_RLEN_1_7)
		return LIQM_STATUS_INVALID;
	at = put_block(resp, 8, rlen, rx_columns, fn->nif.srx, LIQ_SRX_N);
	put_block(resp, at, rlen, tx_columns, fn->nif.stx, LIQ_STX_N);
	return LIQ_STATUS_OK;
}

static bool
is_broadcast(const uint8_t *mac)
{
	return (mac[0] & mac[1] & mac[2] & mac[3] & mac[4] & mac[5]) == 0xFF;
}

/* A frame leaves the interface. */
void
liqm_stats_out(struct liqm_if *nif, const uint8_t *frame, uint32_t len)
{
	nif->stx[LIQ_STX_total_pkts_sent]++;
	nif->stx[LIQ_STX_total_bytes_sent] += len;
	nif->stx[LIQ_STX_fw_total_fwd]++;
	nif->stx[LIQ_STX_fw_total_fwd_bytes] += len;
	if (is_broadcast(frame)) {
		nif->stx[LIQ_STX_bcast_pkts_sent]++;
		nif->stx[LIQ_STX_fw_total_bcast_sent]++;
	} else if (frame[0] & 1) {
		nif->stx[LIQ_STX_mcast_pkts_sent]++;
		nif->stx[LIQ_STX_fw_total_mcast_sent]++;
	}
}

/* A frame reached the host. */
void
liqm_stats_in(struct liqm_if *nif, const uint8_t *frame, uint32_t len)
{
	nif->srx[LIQ_SRX_fw_total_fwd]++;
	nif->srx[LIQ_SRX_fw_total_fwd_bytes] += len;
	if (is_broadcast(frame)) {
		nif->srx[LIQ_SRX_total_bcst]++;
		nif->srx[LIQ_SRX_fw_total_bcast]++;
	} else if (frame[0] & 1) {
		nif->srx[LIQ_SRX_total_mcst]++;
		nif->srx[LIQ_SRX_fw_total_mcast]++;
	}
}

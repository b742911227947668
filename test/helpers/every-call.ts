/**
 * How far apart the calls are at which a process is killed or its disk fails, and the bytes that are flipped in its files:
 * every second one, and with `PRL_EVERY_CALL=1`, the long form (docs/campaigns.md), every one.
 */
export const CALL_STRIDE = process.env.PRL_EVERY_CALL === '1' ? 1 : 2;

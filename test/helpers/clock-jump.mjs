/**
 * Loaded into a process before its program (`--import`): its wall clock is wrong by `$CLOCK_JUMP_MS`, from the start or,
 * with `$CLOCK_JUMPS_LATER`, from SIGUSR2 on. Time that only goes on (`performance.now`, timers) is as it is, as after a
 * clock was set.
 */
const shiftMs = Number(process.env.CLOCK_JUMP_MS ?? 0);
const RealDate = Date;
let hasJumped = process.env.CLOCK_JUMPS_LATER === undefined;
const now = () => RealDate.now() + (hasJumped ? shiftMs : 0);

globalThis.Date = class extends RealDate {
  constructor(...parts) {
    if (parts.length === 0) super(now());
    else super(...parts);
  }

  static now() {
    return now();
  }
};

if (!hasJumped) {
  process.on('SIGUSR2', () => {
    hasJumped = true;
  });
}

/** A ticker on an absolute schedule of 5 ms: how late the loop is while some work goes on, every missed slot counted. */
const PERIOD_MS = 5;

/** The worst lateness in ms during `work`, and the thread's processor time for it. Garbage is collected before. */
export async function stallOf(work) {
  globalThis.gc?.();
  let worstMs = 0;
  let nextAtMs = performance.now() + PERIOD_MS;
  let timer;
  const tick = () => {
    const nowMs = performance.now();
    worstMs = Math.max(worstMs, nowMs - nextAtMs);
    while (nextAtMs <= nowMs) nextAtMs += PERIOD_MS;
    timer = setTimeout(tick, Math.max(0, nextAtMs - performance.now()));
  };
  timer = setTimeout(tick, PERIOD_MS);
  // The work begins when the ticker runs.
  await new Promise((resolve) => setTimeout(resolve, 3 * PERIOD_MS));
  worstMs = 0;
  const before = process.threadCpuUsage();
  await work();
  const { user, system } = process.threadCpuUsage(before);
  await new Promise((resolve) => setTimeout(resolve, 2 * PERIOD_MS));
  clearTimeout(timer);
  return { worstMs, cpuMs: (user + system) / 1e3 };
}

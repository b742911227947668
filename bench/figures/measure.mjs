/** Timing in interleaved passes, and what is said about it. GB are 1e9 bytes of uncompressed input. */

export function median(values) {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

/** Wall time of one call in seconds, and the processor time of this process in it. */
export function time(work) {
  const cpu = process.cpuUsage();
  const start = process.hrtime.bigint();
  work();
  const seconds = Number(process.hrtime.bigint() - start) / 1e9;
  const { user, system } = process.cpuUsage(cpu);
  return { seconds, cpuSeconds: (user + system) / 1e6 };
}

/**
 * Runs every contender once a pass, so that a slow spell of the machine meets all of them. A contender's `run` returns
 * its seconds. One pass before the first is not counted.
 */
export function interleave(contenders, passes) {
  const seconds = contenders.map(() => []);
  for (let pass = -1; pass < passes; pass += 1) {
    contenders.forEach(({ run }, index) => {
      const took = run();
      if (pass >= 0) seconds[index].push(took);
    });
  }
  return contenders.map(({ name, bytes }, index) => ({
    name,
    bytes,
    best: bytes / Math.min(...seconds[index]) / 1e9,
    median: bytes / median(seconds[index]) / 1e9,
  }));
}

/** One line a contender: best and median GB/s, and how many times the reference it is, by medians. */
export function printSpeeds(title, speeds, reference = speeds[0]) {
  console.log(`\n${title}`);
  for (const { name, best, median: middle } of speeds) {
    const ratio = (middle / reference.median).toFixed(2);
    console.log(
      `  ${name.padEnd(46)} best ${best.toFixed(2).padStart(6)}  median ${middle.toFixed(2).padStart(6)} GB/s  x ${ratio}`,
    );
  }
}

const UNITS = { B: 1, kB: 1e3, MB: 1e6, GB: 1e9, KiB: 2 ** 10, MiB: 2 ** 20, GiB: 2 ** 30 };

/** Bytes of a size such as 256MiB. */
export function sizeOf(text) {
  const [, number, unit] = /^([\d.]+)([A-Za-z]*)$/.exec(text) ?? [];
  if (UNITS[unit || 'B'] === undefined) throw new Error(`${text} is no size: write 256MiB, 4GiB or bytes`);
  return Math.floor(Number(number) * UNITS[unit || 'B']);
}

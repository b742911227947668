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
 * what `time` does. One pass before the first is not counted. Speeds are GB/s; `cpu` is by processor time, which a busy
 * machine changes less.
 */
export function interleave(contenders, passes) {
  const taken = contenders.map(() => []);
  for (let pass = -1; pass < passes; pass += 1) {
    for (const [index, { run }] of contenders.entries()) {
      const took = run();
      if (pass >= 0) taken[index].push(took);
    }
  }
  return contenders.map(({ name, bytes }, index) => {
    const seconds = taken[index].map((one) => one.seconds);
    const cpuSeconds = taken[index].map((one) => one.cpuSeconds);
    const speed = (value) => bytes / value / 1e9;
    return { name, best: speed(Math.min(...seconds)), median: speed(median(seconds)), cpu: speed(median(cpuSeconds)) };
  });
}

/** One line a contender; ratios to the first one, by medians. */
export function printSpeeds(title, speeds) {
  console.log(`\n${title}; GB/s`);
  console.log(`  ${''.padEnd(48)}  best  median   ratio     by CPU   ratio`);
  const [reference] = speeds;
  for (const { name, best, median: middle, cpu } of speeds) {
    const numbers = [best, middle, middle / reference.median].map((value) => value.toFixed(2).padStart(6)).join('  ');
    const byCpu = [cpu, cpu / reference.cpu].map((value) => value.toFixed(2).padStart(6)).join('  ');
    console.log(`  ${name.padEnd(46)}${numbers}     ${byCpu}`);
  }
}

const UNITS = { B: 1, kB: 1e3, MB: 1e6, GB: 1e9, KiB: 2 ** 10, MiB: 2 ** 20, GiB: 2 ** 30 };

/** Bytes of a size such as 256MiB. */
export function sizeOf(text) {
  const [, number, unit] = /^([\d.]+)([A-Za-z]*)$/.exec(text) ?? [];
  if (UNITS[unit || 'B'] === undefined) throw new Error(`${text} is no size: write 256MiB, 4GiB or bytes`);
  return Math.floor(Number(number) * UNITS[unit || 'B']);
}

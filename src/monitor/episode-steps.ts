/** What a file monitor writes of an episode: a copy with its run and its arrival on it. Pure. */
import { EncodeError } from '../core/encode/encode-error.js';
import { isTypedList } from '../core/encode/odd-values.js';
import { type Arrival, type RunInfo, stampSteps } from '../core/encode/record-run.js';
import { isPlainObject, memberOf } from '../core/index/object-values.js';

/**
 * The stamped copy, which shares all that does not change. Yields after each trace.
 *
 * An episode of a training run needs to say which work it was: verifiers does not load it otherwise. One that does not
 * gets the run's, or else work of the kind and at the step that it arrived with. What an episode says itself stays.
 *
 * @param run as the monitor knows it
 * @throws EncodeError for what is no object
 */
export function* episodeSteps(episode: unknown, run: RunInfo, arrival: Arrival): Generator<void, object, void> {
  if (!isPlainObject(episode) || isTypedList(episode)) {
    throw new EncodeError('', 'an episode is an object', 'log episodes as plain objects');
  }
  return yield* stampSteps(episode, runOf(episode, run, arrival), arrival);
}

function runOf(episode: object, { type, id, name, work }: RunInfo, { kind, step }: Arrival): RunInfo {
  const own = memberOf(episode, 'run');
  const isNamed = name === undefined || typeof memberOf(own, 'name') === 'string';
  const hasWork = type === 'eval' || isPlainObject(memberOf(own, 'work'));
  return {
    ...{ type, id },
    ...(isNamed ? {} : { name }),
    ...(hasWork ? {} : { work: work ?? { type: kind, step } }),
  };
}

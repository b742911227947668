/** Where a redirect leads: credentials never follow to another origin, and nothing follows into plain HTTP. */
import { travelsInClear } from '../core/upload/base-url.js';

/** The next request of one attempt. `path` goes on the wire as it is. */
export type Target = { readonly origin: string; readonly path: string; readonly sendsCredentials: boolean };

/** @returns the target a Location names, or why it is not followed */
export function followLocation(from: Target, location: string | null, insecure: boolean): Target | { refusal: string } {
  const base = from.origin + from.path;
  if (location === null || !URL.canParse(location, base)) return { refusal: 'without a usable Location' };
  const url = new URL(location, base);
  if (url.protocol !== 'https:' && url.protocol !== 'http:')
    return { refusal: `to ${url.protocol}, which is not HTTP` };
  if (travelsInClear(url) && !insecure) return { refusal: `to ${url.origin}, which is plain HTTP on another machine` };
  // Once dropped, credentials stay dropped, even when a later redirect leads back.
  const sendsCredentials = from.sendsCredentials && url.origin === from.origin;
  return { origin: url.origin, path: url.pathname + url.search, sendsCredentials };
}

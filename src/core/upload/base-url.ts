/** The service's base URL: one normal form, and what may be sent to it in clear (spec 06 section 1). */
import { PrlError } from '../errors.js';

const API_SUFFIX = '/api/v1';

/**
 * Trailing slashes removed, then one `/api/v1`; the query and fragment are refused, and so are credentials, which
 * would end up in reports.
 *
 * @returns the base as text, without a trailing slash; requests go to `<base>/api/v1<path>`
 * @throws PrlError `PRL_ERR_USAGE` for anything but a plain http or https URL; the text of the URL is not repeated
 *   when it holds credentials
 */
export function normalizeBaseUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || (url.protocol !== 'http:' && url.protocol !== 'https:')) {
    throw new PrlError('PRL_ERR_USAGE', `the service URL is ${JSON.stringify(text)}, expected http:// or https://`);
  }
  if (url.username !== '' || url.password !== '') {
    throw new PrlError('PRL_ERR_USAGE', 'the service URL holds a user name or password', {
      hint: 'give the key by PRIME_API_KEY and the URL without credentials',
    });
  }
  if (url.search !== '' || url.hash !== '') {
    throw new PrlError('PRL_ERR_USAGE', `the service URL ${JSON.stringify(text)} has a query or fragment`);
  }
  const path = url.pathname.replace(/\/+$/, '');
  return url.origin + (path.endsWith(API_SUFFIX) ? path.slice(0, -API_SUFFIX.length) : path).replace(/\/+$/, '');
}

/** Whether a host never leaves this machine: localhost, `*.localhost`, 127.0.0.0/8 and ::1. */
export function isLoopbackHost(hostname: string): boolean {
  return (
    hostname === 'localhost' ||
    hostname.endsWith('.localhost') ||
    hostname === '[::1]' ||
    /^127(?:\.\d{1,3}){3}$/.test(hostname)
  );
}

/** Whether a key sent to this URL could be read on the way. */
export function travelsInClear(url: URL): boolean {
  return url.protocol === 'http:' && !isLoopbackHost(url.hostname);
}

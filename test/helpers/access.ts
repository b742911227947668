/** How tests reach their servers. */
import type { ServiceAccess } from '../../src/io/sender.js';

/** A key that must never be seen anywhere but in one header. */
export const SECRET = 'pk-do-not-print-7f3a';

export function accessTo(baseUrl: string, options: Partial<ServiceAccess> = {}): ServiceAccess {
  return { baseUrl, apiKey: SECRET, teamId: null, version: '1.2.3', ...options };
}

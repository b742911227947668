/** Makes the names in a directory survive a crash of the machine: a file that was made, renamed or removed there. */
import { open } from 'node:fs/promises';

/** @throws the system's error */
export async function syncDirectory(path: string): Promise<void> {
  const directory = await open(path, 'r');
  try {
    await directory.sync();
  } finally {
    await directory.close();
  }
}

import { StoreError } from './store.js';

/**
 * Loads a package that is installed only by those who use it.
 * @throws StoreError it is not installed, or cannot be loaded on this machine
 */
export async function optionalPackage<T>(name: string, store: string, load: () => Promise<T>): Promise<T> {
  try {
    return await load();
  } catch (cause) {
    const missing = cause instanceof Error && 'code' in cause && cause.code === 'ERR_MODULE_NOT_FOUND';
    const reason = missing ? 'which is not installed' : 'which cannot be loaded';
    throw new StoreError(`the store '${store}' needs the package ${name}, ${reason}: npm install ${name}`, {
      cause,
    });
  }
}

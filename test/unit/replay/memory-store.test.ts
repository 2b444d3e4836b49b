import { MemoryStore } from '../../../src/replay/memory-store.js';
import { testStore } from './store-contract.js';

testStore('memory', () => ({ open: () => Promise.resolve(new MemoryStore()) }));

/** The public library of prl. What is exported here is stable; everything else may change in any version. */
export { PrlError, type PrlErrorCode } from './core/errors.js';

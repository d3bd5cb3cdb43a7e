export { CodedError, defineError, hasCode, isCodedError } from './errors/define-error.js';
export type { ErrorDefinition, ErrorTraits, Fault } from './errors/define-error.js';
export { catalogueToMarkdown, errorCatalogue } from './errors/catalogue.js';
export type { ErrorGroup } from './errors/catalogue.js';
export { contractErrors, illegalTransition, serverUnreachable, unexpectedAnswer } from './errors/errors.js';
export { defineStates, statesToMermaid } from './states/define-states.js';
export type { StateMachine, States, StateTable } from './states/define-states.js';

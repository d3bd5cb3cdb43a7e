/**
 * By this header, a worker of this platform says of an answer through its HTTP server that its function returned it as a whole.
 * The runtime then writes the outputs of the function first. It never reaches a client.
 */
export const wholeAnswerHeader = 'x-drover-whole-answer';

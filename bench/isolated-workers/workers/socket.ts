import { Socket } from 'node:net';
import { readFrames, writeFrame, wireDescriptor } from '../json-frames.js';

const socket = new Socket({ fd: wireDescriptor, readable: true, writable: true });
socket.once('close', () => process.exit());
readFrames(socket, (message) => (message === 'exit' ? process.exit(1) : writeFrame(socket, message)));

import type { AttachFields, RheaFrame, RheaSession } from './rhea-endpoints.js';

let attached = 0;

/**
 * Attaches a link by its name and direction. In AMQP a link in each direction may have the same name, and a name is free again
 * when its link is detached; rhea knows one link by name and session until it has written the reply to a detach. So a link gets a
 * key of its own in rhea's table as soon as it is attached, and rhea finds none by name.
 */
export function attachLink(
  session: RheaSession,
  frame: RheaFrame<AttachFields>,
  attach: (frame: RheaFrame<AttachFields>) => void,
): void {
  const { name } = frame.performative;
  attach(frame);
  const link = session.links[name];
  if (!link) return;
  attached += 1;
  const key = `${attached}:${name}`;
  delete session.links[name];
  session.links[key] = link;
  const remove = link.remove.bind(link);
  link.remove = () => {
    delete session.links[key];
    remove();
  };
}

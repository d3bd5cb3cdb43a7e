module.exports = function (context, timer) {
  context.bindings.event = JSON.stringify(timer);
  setTimeout(() => context.done(), 5);
};

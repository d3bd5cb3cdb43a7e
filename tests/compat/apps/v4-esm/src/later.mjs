export default (name) => name.toUpperCase();

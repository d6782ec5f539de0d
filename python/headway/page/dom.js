// SPDX-License-Identifier: Apache-2.0
// What all pages share: elements, errors that tests can see, light and dark.

window.addEventListener("error", (event) => {
  document.documentElement.dataset.state = `error: ${event.message}`;
});

document.documentElement.dataset.theme =
  window.matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";

function flipTheme() {
  const root = document.documentElement;
  root.dataset.theme = root.dataset.theme === "dark" ? "light" : "dark";
}

function element(name, attributes = {}, ...children) {
  const made = Object.assign(document.createElement(name), attributes);
  made.append(...children);
  return made;
}

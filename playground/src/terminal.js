// Text for a terminal, as elements.

/** Turns the escape sequences of colours into elements of the classes `sgr-1`, `sgr-32`, … */
export function terminalText(text) {
  const fragment = document.createDocumentFragment();
  let classes = [];
  text.split(/\x1b\[([\d;]*)m/).forEach((part, position) => {
    if (position % 2)
      classes = part
        .split(";")
        .filter((code) => Number(code))
        .map((code) => `sgr-${code}`);
    else if (part) fragment.append(classes.length ? styled(part, classes) : part);
  });
  return fragment;
}

/** The text as it stands without colours. */
export const plainText = (text) => text.replace(/\x1b\[[\d;]*m/g, "");

function styled(text, classes) {
  const span = document.createElement("span");
  span.classList.add(...classes);
  span.textContent = text;
  return span;
}

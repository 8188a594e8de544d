// Keeps the status page up to date: fetches it every two seconds and exchanges the parts that have changed.
'use strict';

const every = 2000;
const live = document.getElementById('live');

async function refresh() {
  if (document.hidden) {
    return;
  }
  try {
    const answer = await fetch(location.pathname, {cache: 'no-store'});
    if (!answer.ok) {
      throw new Error(answer.status);
    }
    const page = new DOMParser().parseFromString(await answer.text(), 'text/html');
    for (const part of document.querySelectorAll('[data-live]')) {
      const now = page.getElementById(part.id);
      if (now && now.innerHTML !== part.innerHTML) {
        part.replaceChildren(...now.childNodes);
      }
    }
    say('Values are renewed every two seconds.');
  } catch {
    say('The gateway does not answer.');
  }
}

function say(text) {
  if (live.textContent !== text) {
    live.textContent = text;
  }
}

async function run() {
  await refresh();
  setTimeout(run, every);
}

setTimeout(run, every);

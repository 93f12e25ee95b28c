//! A real browser, Chromium without a window, for pages that the product writes.
//!
//! It is driven by its own protocol (<https://chromedevtools.github.io/devtools-protocol/>), JSON messages that end with a zero byte, through
//! two pipes (`--remote-debugging-pipe`): no port, no driver of another version than the browser, nothing but JSON needed. Mouse and
//! keyboard are the protocol's, so that a page gets events as from a user.

use std::fs::File;
use std::io::{BufRead, BufReader, PipeReader, PipeWriter, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use libtest_mimic::Failed;
use serde_json::{Value, json};

/// Longer than anything takes, on a machine with much to do.
const PATIENCE: Duration = Duration::from_secs(120);
const NAMES: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];

/// One tab, and what its page complained about.
pub struct Browser {
    child: Child,
    to: PipeWriter,
    from: Receiver<Value>,
    session: String,
    number: u64,
    /// Whether the page that is asked for has loaded.
    has_loaded: bool,
    /// Errors and warnings on the console, exceptions, and addresses that were asked for.
    complaints: Vec<String>,
    requests: Vec<String>,
    profile: tempfile::TempDir,
}

impl Browser {
    /// Starts it.
    ///
    /// # Errors
    /// When there is none: a test that needs a browser fails without.
    pub fn start() -> Result<Browser, Failed> {
        let program = find().ok_or(
            "there is no Chromium: install the package `chromium` (`ci/setup` does), or put `chromium` into a directory of PATH",
        )?;
        let profile = tempfile::tempdir()?;
        let ((input, to), (from, output)) = (std::io::pipe()?, std::io::pipe()?);
        let mut command = Command::new("sh");
        // The protocol is spoken on descriptors 3 and 4.
        command.args(["-c", "exec \"$@\" 3<&0 4>&1 </dev/null >&2", "sh"]).arg(program);
        command.args(["--headless=new", "--remote-debugging-pipe", "--no-first-run", "--disable-gpu"]);
        // A sandbox needs rights that root and containers do not give; the page is the product's own.
        command.args(["--no-sandbox", "--disable-dev-shm-usage", "--disable-extensions", "--hide-scrollbars"]);
        command.arg(format!("--user-data-dir={}", profile.path().display())).arg("about:blank");
        let log = File::create(profile.path().join("stderr"))?;
        let child = command.stdin(Stdio::from(input)).stdout(Stdio::from(output)).stderr(log).spawn()?;
        drop(command);
        let mut browser = Browser {
            child,
            to,
            from: messages(from),
            session: String::new(),
            number: 0,
            has_loaded: false,
            complaints: Vec::new(),
            requests: Vec::new(),
            profile,
        };
        let target = browser.call("Target.createTarget", json!({"url": "about:blank"}))?;
        let attached =
            browser.call("Target.attachToTarget", json!({"targetId": target["targetId"], "flatten": true}))?;
        browser.session = attached["sessionId"].as_str().unwrap_or_default().to_owned();
        for domain in ["Page", "Runtime", "Log", "Network"] {
            browser.call(&format!("{domain}.enable"), json!({}))?;
        }
        Ok(browser)
    }

    /// Opens a file in a window of this width, as a user with a dark or a light desktop; waits until it is there.
    ///
    /// # Errors
    /// When it cannot be loaded.
    pub fn open(&mut self, page: &Path, width: u32, is_dark: bool) -> Result<(), Failed> {
        let size = json!({"width": width, "height": 1000, "deviceScaleFactor": 1, "mobile": false});
        self.call("Emulation.setDeviceMetricsOverride", size)?;
        let scheme = if is_dark { "dark" } else { "light" };
        let features = json!([{"name": "prefers-color-scheme", "value": scheme},
            {"name": "prefers-reduced-motion", "value": "reduce"}]);
        self.call("Emulation.setEmulatedMedia", json!({"features": features}))?;
        self.has_loaded = false;
        self.requests.clear();
        let answer = self.call("Page.navigate", json!({"url": format!("file://{}", page.display())}))?;
        if let Some(error) = answer["errorText"].as_str() {
            return Err(format!("{}: {error}", page.display()).into());
        }
        while !self.has_loaded {
            self.receive()?;
        }
        Ok(())
    }

    /// The value of an expression of JavaScript.
    ///
    /// # Errors
    /// When it throws.
    pub fn evaluate(&mut self, expression: &str) -> Result<Value, Failed> {
        let answer = self.call("Runtime.evaluate", json!({"expression": expression, "returnByValue": true}))?;
        match answer.get("exceptionDetails") {
            Some(details) => Err(format!("{expression}: {details}").into()),
            None => Ok(answer["result"]["value"].clone()),
        }
    }

    /// Clicks into the middle of an element, as a user does.
    ///
    /// # Errors
    /// When there is none, or nothing of it can be seen.
    pub fn click(&mut self, selector: &str) -> Result<(), Failed> {
        let (x, y) = self.middle(selector)?;
        for kind in ["mouseMoved", "mousePressed", "mouseReleased"] {
            let event = json!({"type": kind, "x": x, "y": y, "button": "left", "clickCount": 1});
            self.call("Input.dispatchMouseEvent", event)?;
        }
        Ok(())
    }

    /// Moves the mouse to a place of an element: a share of its width.
    ///
    /// # Errors
    /// As for a click.
    pub fn point(&mut self, selector: &str, share: f64) -> Result<(), Failed> {
        let (_, y) = self.middle(selector)?;
        let x = self.evaluate(&format!(
            "(() => {{ const box = document.querySelector({selector:?}).getBoundingClientRect();
                return box.left + {share} * box.width; }})()"
        ))?;
        self.call("Input.dispatchMouseEvent", json!({"type": "mouseMoved", "x": x, "y": y}))?;
        Ok(())
    }

    fn middle(&mut self, selector: &str) -> Result<(f64, f64), Failed> {
        let middle = self.evaluate(&format!(
            "(() => {{ const element = document.querySelector({selector:?});
                if (!element) return null;
                element.scrollIntoView({{block: 'center', inline: 'center'}});
                const box = element.getBoundingClientRect();
                return box.width && box.height ? [box.left + box.width / 2, box.top + box.height / 2] : null; }})()"
        ))?;
        match (middle[0].as_f64(), middle[1].as_f64()) {
            (Some(x), Some(y)) => Ok((x, y)),
            _ => Err(format!("{selector}: nothing of it can be seen").into()),
        }
    }

    /// Presses a key: `Tab`, `Enter`, `ArrowRight`, ...
    ///
    /// # Errors
    /// When the browser is gone.
    pub fn press(&mut self, key: &str) -> Result<(), Failed> {
        let (code, text) = match key {
            "Tab" => (9, ""),
            "Enter" => (13, "\r"),
            " " => (32, " "),
            "End" => (35, ""),
            "Home" => (36, ""),
            "ArrowLeft" => (37, ""),
            "ArrowRight" => (39, ""),
            _ => return Err(format!("{key}: unknown key").into()),
        };
        for kind in ["keyDown", "keyUp"] {
            let event = json!({"type": kind, "key": key, "code": key, "text": text, "windowsVirtualKeyCode": code});
            self.call("Input.dispatchKeyEvent", event)?;
        }
        Ok(())
    }

    /// Types into what has the focus.
    ///
    /// # Errors
    /// When the browser is gone.
    pub fn write(&mut self, text: &str) -> Result<(), Failed> {
        self.call("Input.insertText", json!({"text": text}))?;
        Ok(())
    }

    /// A picture of the whole page, as PNG, if `QMPI_TEST_SCREENSHOTS` names a directory for it: to be looked at.
    ///
    /// # Errors
    /// When it cannot be made or written.
    pub fn picture(&mut self, name: &str) -> Result<(), Failed> {
        let options = json!({"format": "png", "captureBeyondViewport": true});
        let picture = self.call("Page.captureScreenshot", options)?;
        let data = picture["data"].as_str().unwrap_or_default();
        if data.len() < 10_000 {
            return Err(format!("{name}: a picture of {} bytes shows nothing", data.len()).into());
        }
        let Some(directory) = std::env::var_os("QMPI_TEST_SCREENSHOTS") else { return Ok(()) };
        std::fs::create_dir_all(&directory)?;
        // Pages may be long: the whole of it needs a window that is as long.
        let height = self.evaluate("document.documentElement.scrollHeight")?;
        let width = self.evaluate("innerWidth")?;
        let clip = json!({"x": 0, "y": 0, "width": width, "height": height, "scale": 1});
        let options = json!({"format": "png", "captureBeyondViewport": true, "clip": clip});
        let picture = self.call("Page.captureScreenshot", options)?;
        let mut base64 = Command::new("base64")
            .arg("-d")
            .stdin(Stdio::piped())
            .stdout(File::create(Path::new(&directory).join(format!("{name}.png")))?)
            .spawn()?;
        if let Some(mut stdin) = base64.stdin.take() {
            stdin.write_all(picture["data"].as_str().unwrap_or_default().as_bytes())?;
        }
        base64.wait()?;
        Ok(())
    }

    /// Errors and warnings since the start.
    pub fn complaints(&mut self) -> Result<&[String], Failed> {
        // What was printed before this answer has arrived.
        self.evaluate("0")?;
        Ok(&self.complaints)
    }

    /// Addresses that the page has asked for, itself included.
    pub fn requests(&self) -> &[String] {
        &self.requests
    }

    fn call(&mut self, method: &str, parameters: Value) -> Result<Value, Failed> {
        self.number += 1;
        let mut message = json!({"id": self.number, "method": method, "params": parameters});
        if !self.session.is_empty() {
            message["sessionId"] = json!(self.session);
        }
        let mut text = message.to_string().into_bytes();
        text.push(0);
        self.to.write_all(&text).map_err(|error| self.gone(&error.to_string()))?;
        loop {
            let answer = self.receive()?;
            if answer["id"] == json!(self.number) {
                return match answer.get("error") {
                    Some(error) => Err(format!("{method}: {error}").into()),
                    None => Ok(answer["result"].clone()),
                };
            }
        }
    }

    fn receive(&mut self) -> Result<Value, Failed> {
        let message = self.from.recv_timeout(PATIENCE).map_err(|error| self.gone(&error.to_string()))?;
        let parameters = &message["params"];
        match message["method"].as_str() {
            Some("Page.loadEventFired") => self.has_loaded = true,
            Some("Runtime.exceptionThrown") => self.complaints.push(parameters["exceptionDetails"].to_string()),
            Some("Runtime.consoleAPICalled") => self.complaints.push(parameters["args"].to_string()),
            Some("Log.entryAdded") => self.complaints.push(parameters["entry"].to_string()),
            Some("Network.requestWillBeSent") => {
                self.requests.push(parameters["request"]["url"].as_str().unwrap_or_default().to_owned());
            }
            _ => {}
        }
        Ok(message)
    }

    fn gone(&self, why: &str) -> Failed {
        let said = std::fs::read_to_string(self.profile.path().join("stderr")).unwrap_or_default();
        format!("Chromium does not answer: {why}\n{said}").into()
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        if self.call("Browser.close", json!({})).is_err() {
            let _ = self.child.kill();
        }
        let _ = self.child.wait();
    }
}

fn find() -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    NAMES.iter().find_map(|name| {
        std::env::split_paths(&path).map(|directory| directory.join(name)).find(|program| program.is_file())
    })
}

/// What the browser says, as it arrives.
fn messages(from: PipeReader) -> Receiver<Value> {
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        let mut from = BufReader::new(from);
        let mut text = Vec::new();
        while from.by_ref().read_until(0, &mut text).is_ok_and(|length| length > 0) {
            let message = serde_json::from_slice(text.strip_suffix(&[0]).unwrap_or(&text));
            if message.is_ok_and(|message| sender.send(message).is_err()) {
                break;
            }
            text.clear();
        }
    });
    receiver
}

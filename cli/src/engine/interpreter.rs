//! A module of the policy, run by an interpreter: what is deployed, with no compiler to wait for.
//!
//! A host of waPC offers a guest its request, takes the answer, and passes calls on. Of WASI there is what Rust's
//! standard library asks for: seeds of hash maps, no environment, and the standard error for a panic's message.

use std::{
    hash::{BuildHasher, RandomState},
    mem,
    sync::Arc,
};

use anyhow::{Context, Result, anyhow, bail};
use wasmi::{Caller, Config, Engine as Interpreter, Error, Extern, Linker, Memory, Module, Store, errors::MemoryError};

use super::host::{Engine, Host};

const WAPC: &str = "wapc";
const WASI: &str = "wasi_snapshot_preview1";
const WASI_SUCCESS: i32 = 0;

/// What must run before the first call, where a module has it.
const STARTS: [&str; 2] = ["_start", "wapc_init"];

/// A module that was read and checked.
pub struct Interpreted {
    module: Module,
    linker: Linker<Guest>,
}

/// One call.
struct Guest {
    operation: Vec<u8>,
    payload: Vec<u8>,
    response: Vec<u8>,
    error: Option<String>,
    host: Arc<Host>,
    /// The answer to the last host call, or the error.
    host_answer: Vec<u8>,
    stderr: Vec<u8>,
}

impl Interpreted {
    /// Reads a module in WebAssembly's binary format.
    ///
    /// # Errors
    /// It is none.
    pub fn load(module: &[u8]) -> Result<Self> {
        let interpreter = Interpreter::new(&Config::default());
        let module = Module::new(&interpreter, module).map_err(|error| {
            let error = error.to_string();
            anyhow!(
                "not a WebAssembly module: {}",
                error.lines().next().unwrap_or_default().trim_end_matches([' ', '-', '['])
            )
        })?;
        let mut linker = Linker::new(&interpreter);
        define_wapc(&mut linker).map_err(failure)?;
        define_wasi(&mut linker).map_err(failure)?;
        Ok(Self { module, linker })
    }
}

impl Engine for Interpreted {
    fn call(&self, operation: &str, payload: &[u8], host: Arc<Host>) -> Result<Vec<u8>> {
        let guest = Guest {
            operation: operation.as_bytes().to_owned(),
            payload: payload.to_owned(),
            response: vec![],
            error: None,
            host: host.clone(),
            host_answer: vec![],
            stderr: vec![],
        };
        let lengths = (length(operation.as_bytes()), length(payload));
        let mut store = Store::new(self.module.engine(), guest);
        let answered = self.run(&mut store, lengths);
        let guest = store.into_data();
        match (answered, guest.error) {
            (Ok(1), _) => {
                if operation == "validate" {
                    host.find_cause(payload, &guest.response);
                }
                Ok(guest.response)
            }
            (Ok(_), error) => bail!("{}", error.as_deref().unwrap_or("the module says no reason")),
            (Err(error), _) => {
                let said = String::from_utf8_lossy(&guest.stderr).trim().to_owned();
                Err(if said.is_empty() { error } else { error.context(said) })
            }
        }
    }
}

impl Interpreted {
    fn run(&self, store: &mut Store<Guest>, lengths: (i32, i32)) -> Result<i32> {
        let instance = self.linker.instantiate_and_start(&mut *store, &self.module).map_err(failure)?;
        for start in STARTS {
            if let Some(function) = instance.get_func(&*store, start) {
                let function = function.typed::<(), ()>(&*store).map_err(failure)?;
                function.call(&mut *store, ()).map_err(failure).with_context(|| start.to_owned())?;
            }
        }
        let call = instance.get_typed_func::<(i32, i32), i32>(&*store, "__guest_call").map_err(failure)?;
        call.call(&mut *store, lengths).map_err(failure)
    }
}

fn failure(error: impl Into<Error>) -> anyhow::Error {
    anyhow!("{}", error.into())
}

/// waPC passes lengths as numbers of 32 bits. What is longer does not fit into the module's memory either.
fn length(bytes: &[u8]) -> i32 {
    i32::try_from(bytes.len()).unwrap_or(i32::MAX)
}

type Guests<'c> = Caller<'c, Guest>;

fn define_wapc(linker: &mut Linker<Guest>) -> Result<(), Error> {
    linker.func_wrap(WAPC, "__guest_request", |mut guest: Guests<'_>, operation: i32, payload: i32| {
        let (called, asked) = (mem::take(&mut guest.data_mut().operation), mem::take(&mut guest.data_mut().payload));
        write(&mut guest, operation, &called)?;
        write(&mut guest, payload, &asked)
    })?;
    linker.func_wrap(WAPC, "__guest_response", |mut guest: Guests<'_>, at: i32, length: i32| {
        let response = read(&guest, at, length)?;
        guest.data_mut().response = response;
        Ok::<_, Error>(())
    })?;
    linker.func_wrap(WAPC, "__guest_error", |mut guest: Guests<'_>, at: i32, length: i32| {
        let error = read_text(&guest, at, length)?;
        guest.data_mut().error = Some(error);
        Ok::<_, Error>(())
    })?;
    linker.func_wrap(WAPC, "__host_call", host_call)?;
    for (of_length, fetch) in [("__host_response_len", "__host_response"), ("__host_error_len", "__host_error")] {
        linker.func_wrap(WAPC, of_length, |guest: Guests<'_>| length(&guest.data().host_answer))?;
        linker.func_wrap(WAPC, fetch, |mut guest: Guests<'_>, at: i32| {
            let answer = mem::take(&mut guest.data_mut().host_answer);
            write(&mut guest, at, &answer)
        })?;
    }
    linker.func_wrap(WAPC, "__console_log", |_: Guests<'_>, _at: i32, _length: i32| ())?;
    Ok(())
}

/// Says whether it was answered; the answer, or the error, is fetched by other calls.
#[allow(clippy::too_many_arguments, reason = "waPC has it so")]
fn host_call(
    mut guest: Guests<'_>,
    binding: i32,
    binding_length: i32,
    namespace: i32,
    namespace_length: i32,
    operation: i32,
    operation_length: i32,
    payload: i32,
    payload_length: i32,
) -> Result<i32, Error> {
    let binding = read_text(&guest, binding, binding_length)?;
    let namespace = read_text(&guest, namespace, namespace_length)?;
    let operation = read_text(&guest, operation, operation_length)?;
    let payload = read(&guest, payload, payload_length)?;
    let guest = guest.data_mut();
    let answer = guest.host.serve(&binding, &namespace, &operation, &payload);
    let answered = answer.is_ok();
    guest.host_answer = answer.unwrap_or_else(|error| error.to_string().into_bytes());
    Ok(i32::from(answered))
}

fn define_wasi(linker: &mut Linker<Guest>) -> Result<(), Error> {
    linker.func_wrap(WASI, "environ_sizes_get", |mut guest: Guests<'_>, count: i32, size: i32| {
        write(&mut guest, count, &0u32.to_le_bytes())?;
        write(&mut guest, size, &0u32.to_le_bytes())?;
        Ok::<_, Error>(WASI_SUCCESS)
    })?;
    linker.func_wrap(WASI, "environ_get", |_: Guests<'_>, _: i32, _: i32| WASI_SUCCESS)?;
    linker.func_wrap(WASI, "random_get", |mut guest: Guests<'_>, at: i32, length: i32| {
        // Only hash maps want them: numbers that nobody can guess, as a seed of the standard library is.
        let seed = RandomState::new();
        let bytes: Vec<u8> = (0..offset(length)).map(|place| seed.hash_one(place).to_le_bytes()[0]).collect();
        write(&mut guest, at, &bytes)?;
        Ok::<_, Error>(WASI_SUCCESS)
    })?;
    linker.func_wrap(WASI, "fd_write", fd_write)?;
    linker.func_wrap(WASI, "proc_exit", |_: Guests<'_>, status: i32| Err::<(), _>(Error::i32_exit(status)))?;
    Ok(())
}

/// Keeps what is written, to whatever: it is the message of a panic. Each part is told by its address and its length.
fn fd_write(mut guest: Guests<'_>, _file: i32, parts: i32, count: i32, written: i32) -> Result<i32, Error> {
    let mut total = 0u32;
    for part in 0..count {
        let place = read(&guest, parts + part * 8, 8)?;
        let number = |at: usize| i32::from_le_bytes([place[at], place[at + 1], place[at + 2], place[at + 3]]);
        let text = read(&guest, number(0), number(4))?;
        total += u32::try_from(text.len()).unwrap_or_default();
        guest.data_mut().stderr.extend(text);
    }
    write(&mut guest, written, &total.to_le_bytes())?;
    Ok(WASI_SUCCESS)
}

fn read(guest: &Guests<'_>, at: i32, length: i32) -> Result<Vec<u8>, Error> {
    let memory = memory(guest)?;
    let end = offset(at).checked_add(offset(length));
    let bytes = end.and_then(|end| memory.data(guest).get(offset(at)..end));
    bytes.map(<[u8]>::to_vec).ok_or_else(|| MemoryError::OutOfBoundsAccess.into())
}

fn read_text(guest: &Guests<'_>, at: i32, length: i32) -> Result<String, Error> {
    Ok(String::from_utf8_lossy(&read(guest, at, length)?).into_owned())
}

fn write(guest: &mut Guests<'_>, at: i32, bytes: &[u8]) -> Result<(), Error> {
    Ok(memory(guest)?.write(guest, offset(at), bytes)?)
}

/// WebAssembly's addresses have no sign.
fn offset(address: i32) -> usize {
    usize::try_from(address.cast_unsigned()).unwrap_or(usize::MAX)
}

fn memory(guest: &Guests<'_>) -> Result<Memory, Error> {
    guest.get_export("memory").and_then(Extern::into_memory).ok_or_else(|| Error::new("the module exports no memory"))
}

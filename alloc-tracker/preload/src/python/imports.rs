//! The scopes of imports: what `alloc-tracker/python/alloc_tracker/_imports.py` puts around each, as methods of Python's own kind. The same
//! methods in Python take several times as long, because most imports find their code in no cache. That file has them for
//! a Python that has no such functions, and says what they do.
use std::cell::RefCell;
use std::collections::HashMap;
use std::ptr;
use std::sync::Mutex;

use alloc_c::IMPORT;
use alloc_tracker::hooks::{self, Entered, Name};
use alloc_tracker::unaided::as_tracker;

use crate::definition::{Definition, Object};
use crate::interpreter::Interpreter;

/// How many layers there may be, of the 32,639 scopes that the library has room for. A module beyond them is its importer's.
const MOST: usize = 2_000;

static ENTER: Definition = Definition::new(c"__enter__", enter);
static EXIT: Definition = Definition::new(c"__exit__", exit);

/// The layers of the modules that were met, by their packages' names.
static LAYERS: Mutex<Option<HashMap<Box<str>, Name>>> = Mutex::new(None);

/// An import that runs on this thread.
struct Import {
    /// The address of the object that holds its module's lock.
    lock: usize,
    /// Number 0 is that of no layer.
    layer: Name,
    /// What was entered for it, where it is not part of the import around it.
    entered: Option<Entered>,
}

thread_local! {
    /// The imports that run on this thread, the outermost first.
    static IMPORTS: RefCell<Vec<Import>> = const { RefCell::new(Vec::new()) };
}

/// A tuple of the methods `__enter__` and `__exit__`, for a tuple of five: both as they are; the dictionary of the modules that somebody waits
/// for; `told(module)`, which is called for one of these when its import ends; and the text `_name`, by which an object that holds a lock
/// has the name of its module. Null where this is no Python that is known, or too old.
///
/// # Safety
/// Python calls it with such a tuple.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn alloc_tracker_python_imports(told: *mut Object) -> *mut Object {
    let Some(python) = Interpreter::of_process() else { return ptr::null_mut() };
    // SAFETY: as the caller promises; Python calls while the thread holds the interpreter's lock.
    unsafe { python.tuple([&ENTER, &EXIT].map(|method| python.method(method, told))) }
}

/// # Safety
/// Python calls it, with the tuple that the methods were made for, and with the object that holds the lock.
unsafe extern "C" fn enter(told: *mut Object, arguments: *const *mut Object, count: isize) -> *mut Object {
    let (Some(python), 1) = (Interpreter::of_process(), count) else { return ptr::null_mut() };
    // SAFETY: as the caller promises. The thread holds the interpreter's lock, and the caller keeps the arguments until this returns.
    unsafe {
        let [acquire, name] = [0, 4].map(|place| python.item(told, place));
        let lock = arguments.read();
        let layer = python.attribute(lock, name, |module| layer_of(python.text(module)?));
        begin(lock.addr(), layer);
        let result = python.call(acquire, arguments, 1, ptr::null_mut());
        if result.is_null() {
            // A signal's handler has raised, or two threads wait for each other.
            end(lock.addr());
        }
        result
    }
}

/// # Safety
/// Python calls it, with the tuple that the methods were made for, the object that holds the lock, and the three of an exception.
unsafe extern "C" fn exit(told: *mut Object, arguments: *const *mut Object, count: isize) -> *mut Object {
    let (Some(python), 1..) = (Interpreter::of_process(), count) else { return ptr::null_mut() };
    // SAFETY: as the caller promises. The thread holds the interpreter's lock, and the caller keeps the arguments until this returns.
    unsafe {
        let [release, waiting, tell, name] = [1, 2, 3, 4].map(|place| python.item(told, place));
        let lock = arguments.read();
        let is_told = |module| Some(!python.has(waiting, module) || python.run(tell, &raw const module, 1));
        let result = if python.attribute(lock, name, is_told) == Some(false) {
            // Its exception goes on to the program: a signal's handler has raised.
            python.tell(release, arguments, count.cast_unsigned());
            ptr::null_mut()
        } else {
            python.call(release, arguments, count.cast_unsigned(), ptr::null_mut())
        };
        end(lock.addr());
        result
    }
}

/// The layer of a module: that of its package, or of the part of that which two words of its name tell, because people have heard of
/// `torch._dynamo` and not of `torch._dynamo.guards`. `None` for one beyond [`MOST`].
fn layer_of(module: &str) -> Option<Name> {
    let mut dots = module.match_indices('.');
    let package = dots.nth(1).map_or(module, |(end, _)| &module[..end]);
    let name = || {
        // The word tells a script's `model.py` from its network's attribute `model`.
        as_tracker(|| hooks::name(&format!("{IMPORT}{package}").replace('\0', "?")))
    };
    // Interpreters may each have a lock of their own, or none. A child that was forked while another thread had this one finds it locked for
    // good. So nobody waits: the name's number is looked up by its text, and not counted.
    let Ok(mut layers) = LAYERS.try_lock() else { return Some(name()) };
    let layers = layers.get_or_insert_default();
    if let Some(&layer) = layers.get(package) {
        return Some(layer);
    }
    (layers.len() < MOST).then(|| {
        let layer = name();
        as_tracker(|| layers.insert(package.into(), layer));
        layer
    })
}

/// An import begins on this thread. Without a layer it is part of the import around it.
fn begin(lock: usize, layer: Option<Name>) {
    // A thread that ends tells of no import any more.
    let _ = IMPORTS.try_with(|imports| {
        let mut imports = imports.borrow_mut();
        let around = imports.last().map_or(Name::default(), |import| import.layer);
        let layer = layer.unwrap_or(around);
        let entered = (layer != around).then(|| {
            let phase = (around == Name::default()).then(|| hooks::enter_phase("import"));
            let layer = hooks::enter_numbered_layer(layer);
            phase.unwrap_or(layer)
        });
        if imports.len() == imports.capacity() {
            as_tracker(|| imports.reserve(1));
        }
        imports.push(Import { lock, layer, entered });
    });
}

/// It ends, with all that began in it and has not ended.
fn end(lock: usize) {
    let _ = IMPORTS.try_with(|imports| {
        let mut imports = imports.borrow_mut();
        let Some(place) = imports.iter().rposition(|import| import.lock == lock) else { return };
        if let Some(entered) = imports[place..].iter().find_map(|import| import.entered) {
            hooks::leave(entered);
        }
        imports.truncate(place);
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    fn active() -> [&'static str; 2] {
        let current = hooks::current();
        [hooks::text(current.phase), hooks::text(current.layer)]
    }

    #[test]
    fn an_import_within_another_has_a_layer_of_its_own_unless_both_are_of_one_part() {
        begin(1, layer_of("one"));
        assert_eq!(active(), ["import", "import one"]);
        begin(2, layer_of("two.part.inner"));
        assert_eq!(active(), ["import", "import two.part"]);
        begin(3, layer_of("two.part.other.inner"));
        assert_eq!(active(), ["import", "import two.part"]);
        end(3);
        end(2);
        assert_eq!(active(), ["import", "import one"]);
        begin(4, None);
        assert_eq!(active(), ["import", "import one"], "beyond the layers");
        end(4);
        end(1);
        assert_eq!(active(), ["", ""]);
        end(1);
    }

    #[test]
    fn an_import_has_its_layer_while_another_thread_looks_its_own_up() {
        let known = layer_of("known.part");
        let layers = LAYERS.lock();
        assert_eq!(layer_of("known.part"), known);
        assert_eq!(layer_of("new.part").map(hooks::text), Some("import new.part"));
        drop(layers);
        assert_eq!(layer_of("new.part"), layer_of("new.part.inner"));
    }

    #[test]
    fn an_import_ends_with_all_that_began_in_it() {
        begin(1, layer_of("outer"));
        begin(2, layer_of("outer.middle"));
        begin(3, layer_of("inner"));
        end(1);
        assert_eq!(active(), ["", ""]);
        begin(4, layer_of("next"));
        end(3);
        assert_eq!(active(), ["import", "import next"], "it was over");
        end(4);
    }
}
